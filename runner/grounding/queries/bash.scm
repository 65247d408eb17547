(function_definition name: (word) @name) @definition
(variable_assignment name: (variable_name) @name) @definition
(declaration_command (variable_name) @name) @definition
(comment) @comment
[(raw_string) (ansi_c_string) (string) (heredoc_body)] @string
(string [(expansion) (simple_expansion) (command_substitution)] @code)
(heredoc_body [(expansion) (simple_expansion) (command_substitution)] @code)
