[(value_definition (let_binding pattern: (value_name) @name))
 (type_definition (type_binding name: (type_constructor) @name))
 (module_definition (module_binding (module_name) @name))
 (module_type_definition (module_type_name) @name)
 (external (value_name) @name)
 (exception_definition (constructor_declaration (constructor_name) @name))
 (constructor_declaration (constructor_name) @name)
 (field_declaration (field_name) @name)
 (class_definition (class_binding name: (class_name) @name))
 (method_definition name: (method_name) @name)] @definition
(comment) @comment
[(string) (quoted_string) (character)] @string
