[(class_definition name: (_) @name)
 (object_definition name: (_) @name)
 (trait_definition name: (_) @name)
 (enum_definition name: (_) @name)
 (simple_enum_case name: (_) @name)
 (full_enum_case name: (_) @name)
 (package_object name: (_) @name)
 (type_definition name: (_) @name)
 (function_definition name: (_) @name)
 (function_declaration name: (_) @name)
 (given_definition name: (_) @name)
 (val_definition pattern: (identifier) @name)
 (var_definition pattern: (identifier) @name)
 (val_declaration name: (identifier) @name)
 (var_declaration name: (identifier) @name)
 (class_parameter name: (identifier) @name)] @definition
[(comment) (block_comment)] @comment
[(string) (interpolated_string) (character_literal)] @string
(interpolation) @code
