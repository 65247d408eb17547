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
 (enum_variant name: (identifier) @name)] @definition
(impl_item type: [(type_identifier) @scope.name (generic_type type: (type_identifier) @scope.name) (scoped_type_identifier name: (type_identifier) @scope.name)]) @scope
(impl_item trait: [(type_identifier) @scope.name (generic_type type: (type_identifier) @scope.name) (scoped_type_identifier name: (type_identifier) @scope.name) (generic_type type: (scoped_type_identifier name: (type_identifier) @scope.name))]) @scope
[(line_comment) (block_comment)] @comment
[(string_literal) (raw_string_literal) (char_literal)] @string
(attribute_item) @header
