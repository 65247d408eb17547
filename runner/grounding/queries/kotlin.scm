[(class_declaration name: (identifier) @name)
 (object_declaration name: (identifier) @name)
 (function_declaration name: (identifier) @name)
 (property_declaration (variable_declaration (identifier) @name))
 (property_declaration (multi_variable_declaration (variable_declaration (identifier) @name)))
 (enum_entry (identifier) @name)
 (class_parameter (identifier) @name)
 (companion_object name: (identifier) @name)
 (type_alias type: (identifier) @name)] @definition
[(line_comment) (block_comment)] @comment
[(string_literal) (multiline_string_literal) (character_literal)] @string
(interpolation) @code
