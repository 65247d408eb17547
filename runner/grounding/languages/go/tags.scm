(function_declaration name: (identifier) @name) @definition
(method_declaration
  receiver: (parameter_list (parameter_declaration
    type: [(type_identifier) @receiver
           (pointer_type (type_identifier) @receiver)
           (generic_type type: (type_identifier) @receiver)
           (pointer_type (generic_type type: (type_identifier) @receiver))]))
  name: (field_identifier) @name) @definition
(type_spec name: (type_identifier) @name) @definition
(type_alias name: (type_identifier) @name) @definition
; With `name:` only the first of several would match: the commas bear that field too.
(const_spec (identifier) @name) @definition
(source_file (var_declaration (var_spec name: (identifier) @name) @definition))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition)))
(field_declaration name: (field_identifier) @name) @definition
; An embedded field is called by its type.
(field_declaration !name type: [
  (type_identifier) @name
  (qualified_type name: (type_identifier) @name)
  (generic_type type: (type_identifier) @name)
  (generic_type type: (qualified_type name: (type_identifier) @name))]) @definition
(interface_type (type_elem . [(type_identifier) @name (qualified_type name: (type_identifier) @name)] .) @definition)
(method_elem name: (field_identifier) @name) @definition
(import_spec name: (package_identifier) @name) @definition
(labeled_statement label: (label_name) @name) @definition
; Functions that a name, a field or a key is bound to.
(short_var_declaration left: (expression_list . (identifier) @name .) right: (expression_list . (func_literal) .)) @definition
(var_spec name: (identifier) @name value: (expression_list . (func_literal) .)) @definition
(assignment_statement left: (expression_list . [(identifier) @name (selector_expression field: (field_identifier) @name)] .) right: (expression_list . (func_literal) .)) @definition
(keyed_element key: (literal_element (identifier) @name) value: (literal_element (func_literal))) @definition
(comment) @comment
[(interpreted_string_literal) (raw_string_literal) (rune_literal)] @string
