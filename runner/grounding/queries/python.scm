(function_definition name: (identifier) @name) @definition
(class_definition name: (identifier) @name) @definition
(decorated_definition definition: [(function_definition name: (identifier) @name) (class_definition name: (identifier) @name)]) @definition
(module (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition))
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @definition))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name) @definition))))
(class_definition body: (block (expression_statement (assignment left: [(identifier) @name (pattern_list (identifier) @name)]) @definition)))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @name) (#eq? @self "self")) @definition
(type_alias_statement . (type (identifier) @name)) @definition
(comment) @comment
(string) @string
(interpolation) @code
