(function_definition name: (identifier) @name) @definition
(package_statement (package_name) @qualified) @definition
(use_constant_statement constant: (_) @name) @definition
(use_constant_statement value: (hash_ref (key_value_pair key: (_) @name @definition)))
(variable_declaration (scope) @scope.word [
  (single_var_declaration) @name
  (multi_var_declaration (variable_declarator) @name)]) @definition
(call_expression function_name: (identifier) @has args: (arguments . (argument . [(call_expression function_name: (identifier) @name) (string_single_quoted) @name]))
  (#eq? @has "has")) @definition
(binary_expression . variable: (type_glob (identifier) @name)) @definition
[(comments) (pod_statement)] @comment
[(string_single_quoted) (string_q_quoted) (heredoc_body_statement)] @string
