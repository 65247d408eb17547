(block (identifier) (string_lit (template_literal) @name)) @definition
(block (identifier) @name) @definition
(attribute (identifier) @name) @definition
(comment) @comment
(string_lit) @string
[(template_interpolation)] @code
