(create_table_statement (identifier) @name) @definition
(create_table_statement (dotted_name (identifier) @name .)) @definition
(create_function_statement (identifier) @name) @definition
(create_view_statement (identifier) @name) @definition
(create_index_statement (identifier) @name) @definition
(create_type_statement (identifier) @name) @definition
(create_trigger_statement (identifier) @name) @definition
(create_schema_statement (identifier) @name) @definition
(table_column name: (identifier) @name) @definition
(comment) @comment
(string) @string
