(function_definition name: (word) @qualified) @definition
(variable_assignment name: [(variable_name) @name (subscript name: (variable_name) @name)]) @definition
(declaration_command (variable_name) @name) @definition
[(for_statement variable: (variable_name) @name)
 (expansion (variable_name) @name . operator: [":=" "="])] @definition
(compound_statement (binary_expression left: (variable_name) @name operator: "=") @definition)
((command name: (command_name (word) @alias) argument: [(word) (concatenation . (word))] @assigned)
  (#eq? @alias "alias") (#match? @assigned "=")) @definition
((command name: (command_name (word) @let) argument: [(word) (string) (raw_string)] @assigned)
  (#eq? @let "let") (#match? @assigned "=")) @definition
((command name: (command_name (word) @reader) argument: (word) @name)
  (#any-of? @reader "read" "mapfile" "readarray") (#match? @name "^[A-Za-z_][A-Za-z0-9_]*$")) @definition
((command name: (command_name (word) @printf) argument: (word) @option . argument: (word) @name)
  (#eq? @printf "printf") (#eq? @option "-v") (#match? @name "^[A-Za-z_]")) @definition
((command name: (command_name (word) @getopts) . argument: (_) . argument: (word) @name)
  (#eq? @getopts "getopts")) @definition
((command name: (command_name (word) @test) . argument: [(string) (raw_string)] @name)
  (#eq? @test "@test")) @definition
(comment) @comment
[(raw_string) (ansi_c_string) (string) (heredoc_body)] @string
(string [(expansion) (simple_expansion) (command_substitution)] @code)
(heredoc_body [(expansion) (simple_expansion) (command_substitution)] @code)
