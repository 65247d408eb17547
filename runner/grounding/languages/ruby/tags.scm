[(method name: (_) @name)
 (singleton_method name: (_) @name)
 (class name: [(constant) (scope_resolution)] @qualified)
 (module name: [(constant) (scope_resolution)] @qualified)
 (assignment left: [
   (constant) @name
   (instance_variable) @name
   (class_variable) @name
   (global_variable) @name
   (scope_resolution) @qualified
   (left_assignment_list [(constant) (instance_variable) (class_variable) (global_variable)] @name)])
 (assignment left: (identifier) @name right: (lambda))
 (operator_assignment left: [(constant) (instance_variable) (class_variable) (global_variable)] @name operator: "||=")
 (alias name: (_) @name)] @definition
(assignment left: (identifier) @name right: (call method: (identifier) @lambda block: (_))
  (#any-of? @lambda "lambda" "proc")) @definition
(call . receiver: (constant) @struct method: (identifier) @new arguments: (argument_list (simple_symbol) @name)
  (#any-of? @struct "Struct" "Data") (#any-of? @new "new" "define")) @definition
(call !receiver method: (identifier) @macro arguments: (argument_list . (constant) @name) block: (_)
  (#eq? @macro "refine")) @definition

; Every symbol is a name.
(call !receiver method: (identifier) @macro arguments: (argument_list [
  (simple_symbol) @name
  (string) @name
  (splat_argument (symbol_array (bare_symbol) @name))])
  (#match? @macro "^(attr(_reader|_writer|_accessor)?|(thread_)?[cm]attr_(reader|writer|accessor)|attr_internal|class_attribute|delegate|helper_method|validates|before_action|after_action)$")) @definition

; The first one is.
(call !receiver method: (identifier) @macro arguments: (argument_list . [
  (simple_symbol) @name
  (delimited_symbol) @name
  (string) @name
  (pair key: (hash_key_symbol) @name)])
  (#match? @macro "^(scope|has_many|has_one|belongs_to|has_and_belongs_to_many|has_(one|many)_attached|has_rich_text|has_secure_token|composed_of|enum|store|attribute|alias_attribute|serialize|define(_singleton)?_method|alias_method|option|method_option|param|field|argument|property|prop|const|setting|state|event|rule|let!?|let_it_be|subject!?|concern|concerning|resources?|namespace|task|multitask|factory|trait|sequence|transient|create_table|create_join_table|shared_examples(_for)?|shared_context|describe|context|feature|scenario|it|specify|example|test|should)$")) @definition
(call !receiver method: (identifier) @macro arguments: (argument_list . (_) (simple_symbol) @name)
  (#any-of? @macro "def_delegators" "def_instance_delegators" "store_accessor")) @definition
(call !receiver method: (identifier) @macro arguments: (argument_list . (_) . [(simple_symbol) (string)] @name)
  (#any-of? @macro "add_column" "add_reference" "rename_column" "def_delegator")) @definition
(call !receiver method: (identifier) @macro arguments: (argument_list . (_) . (_) . (simple_symbol) @name)
  (#any-of? @macro "def_delegator" "rename_column")) @definition
(call !receiver method: (identifier) @macro arguments: (argument_list [
  (hash (pair key: [(hash_key_symbol) (simple_symbol) (string)] @name))
  (array [(simple_symbol) (string)] @name)
  (symbol_array (bare_symbol) @name)
  (pair value: [
    (hash (pair key: [(hash_key_symbol) (simple_symbol) (string)] @name))
    (array (simple_symbol) @name)
    (symbol_array (bare_symbol) @name)])])
  (#eq? @macro "enum")) @definition
(call . receiver: (identifier) @table arguments: (argument_list . [(simple_symbol) (string)] @name)
  (#any-of? @table "t" "table")) @definition

(call . receiver: (constant) method: (identifier) @macro arguments: (argument_list . (string) @name)
  (#any-of? @macro "describe" "feature" "shared_examples" "shared_context")) @definition

(comment) @comment
[(string) (heredoc_body) (regex) (string_array) (subshell)] @string
(interpolation) @code
