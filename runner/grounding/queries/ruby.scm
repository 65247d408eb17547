[(method name: (_) @name)
 (singleton_method name: (_) @name)
 (class name: [(constant) @name (scope_resolution name: (constant) @name)])
 (module name: [(constant) @name (scope_resolution name: (constant) @name)])
 (assignment left: [(constant) (instance_variable) (class_variable) (global_variable)] @name)
 (operator_assignment left: [(constant) (instance_variable) (class_variable)] @name)
 (alias name: (_) @name)] @definition
(call method: (identifier) @macro arguments: (argument_list [(simple_symbol) @name (pair key: (hash_key_symbol) @name)])
  (#match? @macro "^(attr|attr_reader|attr_writer|attr_accessor|cattr_accessor|mattr_accessor|class_attribute|delegate|scope|has_many|has_one|belongs_to|has_and_belongs_to_many|define_method|alias_method|enum|attribute|option|field|validates|before_action|after_action|helper_method|let|subject|property)!?$")) @definition
(comment) @comment
[(string) (heredoc_body) (regex) (string_array) (subshell)] @string
(interpolation) @code
