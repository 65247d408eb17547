(function_definition_statement name: (_) @qualified) @definition
(local_function_definition_statement name: (identifier) @name) @definition
(local_variable_declaration (variable_list (variable name: (identifier) @name))) @definition
(variable_assignment (variable_list (variable name: (identifier) @name))) @definition
(variable_assignment (variable_list (variable
  table: [(identifier) @receiver (variable field: (identifier) @receiver)]
  field: [(identifier) (string)] @name))) @definition
(variable_assignment (variable_list (variable field: [(identifier) (string)] @name))) @definition
(field key: [(identifier) (string)] @name) @definition
(for_numeric_statement name: (identifier) @name) @definition
(for_generic_statement left: (variable_list name: (identifier) @name) (#not-eq? @name "_")) @definition
(label_statement name: (identifier) @name) @definition
(call . function: (variable name: (identifier) @test) arguments: (argument_list (expression_list . (string) @name))
  (#any-of? @test "describe" "context" "it" "test" "pending")) @definition
(call . function: (variable name: (identifier) @setter) arguments: (argument_list (expression_list . (variable name: (identifier) @receiver) . (string) @name))
  (#eq? @setter "rawset")) @definition
(comment) @comment
(string) @string
