[(fun_decl clause: (function_clause name: (atom) @name))
 (record_decl name: (atom) @name)
 (record_field name: (atom) @name)
 (type_alias name: (type_name name: (atom) @name))
 (opaque name: (type_name name: (atom) @name))
 (spec fun: (atom) @name)
 (callback fun: (atom) @name)
 (match_expr lhs: (var) @name rhs: (anonymous_fun))
 (pp_define lhs: (macro_lhs name: (_) @name))
 (module_attribute name: (atom) @name)] @definition
(comment) @comment
[(string) (char)] @string
