[(fun_decl clause: (function_clause name: (atom) @name))
 (record_decl name: (atom) @name)
 (record_field name: (atom) @name)
 (type_alias name: (type_name name: (atom) @name))
 (pp_define lhs: (macro_lhs name: (_) @name))
 (module_attribute name: (atom) @name)] @definition
(comment) @comment
[(string) (char)] @string
