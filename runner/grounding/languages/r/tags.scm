(left_assignment name: (identifier) @name) @definition
(equals_assignment name: (identifier) @name) @definition
(super_assignment name: (identifier) @name) @definition
(comment) @comment
(string) @string
