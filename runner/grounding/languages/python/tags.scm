(function_definition name: (identifier) @name) @definition
(class_definition name: (identifier) @name) @definition
(decorated_definition definition: [(function_definition name: (identifier) @name) (class_definition name: (identifier) @name)]) @definition
; Of a module or a class, whatever `if`, `try` or `with` it stands in; not a function's own.
(assignment left: [(identifier) (pattern_list) (tuple_pattern) (list_pattern)] @name) @variable
(for_statement left: [(identifier) (pattern_list) (tuple_pattern)] @name) @variable
(named_expression name: (identifier) @name) @variable
(as_pattern (as_pattern_target (identifier) @name)) @variable
(function_definition body: (block) @closed)
(class_definition body: (block) @opened)
(lambda) @closed
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @closed
(assignment left: (identifier) @name right: (lambda)) @definition
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @name) (#any-of? @_self "self" "cls")) @definition
(assignment left: (pattern_list (attribute object: (identifier) @_self attribute: (identifier) @name)) (#any-of? @_self "self" "cls")) @definition
(assignment left: (tuple_pattern (attribute object: (identifier) @_self attribute: (identifier) @name)) (#any-of? @_self "self" "cls")) @definition
(assignment left: (attribute object: (identifier) @receiver attribute: (identifier) @name)) @variable
(type_alias_statement . (type [(identifier) @name (generic_type . (identifier) @name)])) @definition
(import_statement (aliased_import alias: (identifier) @name) @definition)
(import_from_statement (aliased_import alias: (identifier) @name) @definition)
(comment) @comment
(string) @string
(interpolation) @code
