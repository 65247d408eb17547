[(class_declaration name: [(type_identifier) @name (user_type (type_identifier) @name)])
 (protocol_declaration name: (type_identifier) @name)
 (function_declaration name: (simple_identifier) @name)
 (protocol_function_declaration name: (simple_identifier) @name)
 (init_declaration name: "init" @name)
 (deinit_declaration "deinit" @name)
 (subscript_declaration "subscript" @name)
 (property_declaration name: (pattern bound_identifier: (simple_identifier) @name))
 (protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name))
 (enum_entry name: (simple_identifier) @name)
 (typealias_declaration name: (type_identifier) @name)
 (associatedtype_declaration name: (type_identifier) @name)
 (macro_declaration (simple_identifier) @name)] @definition
[(comment) (multiline_comment)] @comment
[(line_string_literal) (multi_line_string_literal) (raw_string_literal) (regex_literal)] @string
(interpolated_expression) @code
