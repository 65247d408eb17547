[(function_item name: (_) @name)
 (function_signature_item name: (_) @name)
 (struct_item name: (type_identifier) @name)
 (enum_item name: (type_identifier) @name)
 (union_item name: (type_identifier) @name)
 (trait_item name: (type_identifier) @name)
 (type_item name: (type_identifier) @name)
 (associated_type name: (type_identifier) @name)
 (const_item name: (identifier) @name)
 (static_item name: (identifier) @name)
 (macro_definition name: (identifier) @name)
 (mod_item name: (identifier) @name)
 (field_declaration name: (field_identifier) @name)
 (enum_variant name: (identifier) @name)
 (use_as_clause alias: (identifier) @name)
 (extern_crate_declaration name: (identifier) @name !alias)
 (extern_crate_declaration alias: (identifier) @name)
 (let_declaration pattern: (identifier) @name value: (closure_expression))
 (loop_expression (label (identifier) @name))
 (while_expression (label (identifier) @name))
 (for_expression (label (identifier) @name))
 (block (label (identifier) @name))] @definition
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (type_identifier) @name))
  (primitive_type) @name
  (reference_type type: [(type_identifier) (primitive_type)] @name)
  (reference_type type: (generic_type type: (type_identifier) @name))
  (dynamic_type trait: (type_identifier) @name)]) @definition
(impl_item trait: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (type_identifier) @name))]) @definition
; Items that only the macro can read: `lazy_static! { static ref NAME … }`, `bitflags!`. Their tree
; is not named: each of a thousand nested trees would stay open for the whole of it.
("enum" . (identifier) @name @definition)
("fn" . (identifier) @name @definition)
("mod" . (identifier) @name @definition)
("struct" . (identifier) @name @definition)
("trait" . (identifier) @name @definition)
("type" . (identifier) @name @definition)
("union" . (identifier) @name @definition)
("const" . (identifier) @name @definition . ":")
("const" . (identifier) @name @definition . "=")
("static" . (identifier) @name @definition . ":")
("static" . (identifier) @name @definition . "=")
("struct" . (identifier) @name . ":" . (_) . (token_tree) @definition)
("static" . (identifier) @_ref . (identifier) @name @definition (#eq? @_ref "ref"))
(source_file (macro_invocation (token_tree . "{") @items))
(declaration_list (macro_invocation (token_tree . "{") @items))
[(line_comment) (block_comment)] @comment
[(string_literal) (raw_string_literal) (char_literal)] @string
(attribute_item) @header
