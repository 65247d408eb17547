[(function_definition name: (name) @name)
 (method_declaration name: (name) @name)
 (class_declaration name: (name) @name)
 (interface_declaration name: (name) @name)
 (trait_declaration name: (name) @name)
 (enum_declaration name: (name) @name)
 (enum_case name: (name) @name)
 (const_declaration (const_element (name) @name))
 (property_declaration (property_element name: (variable_name (name) @name)))
 (property_promotion_parameter name: (variable_name (name) @name))
 (namespace_definition name: (namespace_name) @name)] @definition
(function_call_expression function: (name) @define arguments: (arguments . (argument (string (string_content) @name))) (#eq? @define "define")) @definition
(comment) @comment
[(string) (encapsed_string) (heredoc) (nowdoc) (text)] @string
(encapsed_string [(variable_name) (member_access_expression) (subscript_expression)] @code)
