[(function name: (variable) @name)
 (signature name: (variable) @name)
 (adt name: (type) @name)
 (newtype name: (type) @name)
 (type_alias name: (type) @name)
 (class (class_head class: (class_name (type) @name)))
 (data_constructor (constructor) @name)
 (data_constructor_record (constructor) @name)
 (newtype_constructor (constructor) @name)
 (field (variable) @name)] @definition
(comment) @comment
(string) @string
