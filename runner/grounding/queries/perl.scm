(function_definition name: (identifier) @name) @definition
(package_statement (package_name) @qualified) @definition
(use_constant_statement constant: (_) @name) @definition
[(comments) (pod_statement)] @comment
[(string_single_quoted) (string_q_quoted) (heredoc_body_statement)] @string
