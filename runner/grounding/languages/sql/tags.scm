(create_table_statement (identifier) @name) @definition
(create_table_statement (dotted_name (identifier) @name .)) @definition
(create_function_statement (identifier) @name) @definition
(create_view_statement (identifier) @name) @definition
(create_materialized_view_statement (identifier) @name) @definition
(create_statement (create_sequence (identifier) @name)) @definition
(create_index_statement name: (identifier) @name) @definition
(table_parameters name: (identifier) @name @definition)
(cte . (identifier) @name) @definition
(create_type_statement (identifier) @name) @definition
(create_trigger_statement . (identifier) @name) @definition
(create_schema_statement (identifier) @name) @definition
(table_column name: (identifier) @name) @definition
(comment) @comment
(string) @string
