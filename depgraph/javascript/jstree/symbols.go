package jstree

// Kind is the kind of a node. The three grammars number their symbols differently; a Kind is the same in all.
type Kind uint16

// Token is a keyword or punctuation: its text says which. Error is text that the parser does not understand. The other
// kinds are named as in the grammars.
const (
	Token Kind = iota
	Error
	AbstractClassDeclaration
	AbstractMethodSignature
	AccessibilityModifier
	AddingTypeAnnotation
	AmbientDeclaration
	Arguments
	Array
	ArrayPattern
	ArrayType
	ArrowFunction
	AsExpression
	Asserts
	AssertsAnnotation
	AssignmentExpression
	AssignmentPattern
	AugmentedAssignmentExpression
	AwaitExpression
	BinaryExpression
	BreakStatement
	CallExpression
	CallSignature
	CatchClause
	Class
	ClassBody
	ClassDeclaration
	ClassHeritage
	ClassStaticBlock
	ComputedPropertyName
	ConditionalType
	Constraint
	ConstructSignature
	ConstructorType
	ContinueStatement
	DebuggerStatement
	Decorator
	DefaultType
	DoStatement
	ElseClause
	EmptyStatement
	EnumAssignment
	EnumBody
	EnumDeclaration
	ExistentialType
	ExportClause
	ExportSpecifier
	ExportStatement
	ExpressionStatement
	ExtendsClause
	ExtendsTypeClause
	False
	FieldDefinition
	FinallyClause
	FlowMaybeType
	ForInStatement
	ForStatement
	FormalParameters
	FunctionDeclaration
	FunctionExpression
	FunctionSignature
	FunctionType
	GeneratorFunction
	GeneratorFunctionDeclaration
	GenericType
	HashBangLine
	HtmlCharacterReference
	Identifier
	IfStatement
	ImplementsClause
	Import
	ImportAlias
	ImportAttribute
	ImportClause
	ImportRequireClause
	ImportSpecifier
	ImportStatement
	IndexSignature
	IndexTypeQuery
	InferType
	InstantiationExpression
	InterfaceBody
	InterfaceDeclaration
	InternalModule
	IntersectionType
	JSXAttribute
	JSXClosingElement
	JSXElement
	JSXExpression
	JSXNamespaceName
	JSXOpeningElement
	JSXSelfClosingElement
	JSXText
	LabeledStatement
	LexicalDeclaration
	LiteralType
	LookupType
	MappedTypeClause
	MemberExpression
	MetaProperty
	MethodDefinition
	MethodSignature
	Module
	NamedImports
	NamespaceExport
	NamespaceImport
	NestedIdentifier
	NestedTypeIdentifier
	NewExpression
	NonNullExpression
	Null
	Number
	Object
	ObjectAssignmentPattern
	ObjectPattern
	ObjectType
	OmittingTypeAnnotation
	OptingTypeAnnotation
	OptionalChain
	OptionalParameter
	OptionalType
	OverrideModifier
	Pair
	PairPattern
	ParenthesizedExpression
	ParenthesizedType
	PredefinedType
	PrivatePropertyIdentifier
	Program
	PropertyIdentifier
	PropertySignature
	PublicFieldDefinition
	ReadonlyType
	Regex
	RequiredParameter
	RestPattern
	RestType
	ReturnStatement
	SatisfiesExpression
	SequenceExpression
	ShorthandPropertyIdentifier
	ShorthandPropertyIdentifierPattern
	SpreadElement
	StatementBlock
	StatementIdentifier
	String
	SubscriptExpression
	Super
	SwitchBody
	SwitchCase
	SwitchDefault
	SwitchStatement
	TemplateLiteralType
	TemplateString
	TemplateSubstitution
	TemplateType
	TernaryExpression
	This
	ThisType
	ThrowStatement
	True
	TryStatement
	TupleType
	TypeAliasDeclaration
	TypeAnnotation
	TypeArguments
	TypeAssertion
	TypeIdentifier
	TypeParameter
	TypeParameters
	TypePredicate
	TypePredicateAnnotation
	TypeQuery
	UnaryExpression
	Undefined
	UnionType
	UpdateExpression
	VariableDeclaration
	VariableDeclarator
	WhileStatement
	WithStatement
	YieldExpression

	kinds int = iota
)

// kindNames are the grammars' names of the kinds.
var kindNames = [kinds]string{
	Token: "", Error: "ERROR",
	AbstractClassDeclaration:           "abstract_class_declaration",
	AbstractMethodSignature:            "abstract_method_signature",
	AccessibilityModifier:              "accessibility_modifier",
	AddingTypeAnnotation:               "adding_type_annotation",
	AmbientDeclaration:                 "ambient_declaration",
	Arguments:                          "arguments",
	Array:                              "array",
	ArrayPattern:                       "array_pattern",
	ArrayType:                          "array_type",
	ArrowFunction:                      "arrow_function",
	AsExpression:                       "as_expression",
	Asserts:                            "asserts",
	AssertsAnnotation:                  "asserts_annotation",
	AssignmentExpression:               "assignment_expression",
	AssignmentPattern:                  "assignment_pattern",
	AugmentedAssignmentExpression:      "augmented_assignment_expression",
	AwaitExpression:                    "await_expression",
	BinaryExpression:                   "binary_expression",
	BreakStatement:                     "break_statement",
	CallExpression:                     "call_expression",
	CallSignature:                      "call_signature",
	CatchClause:                        "catch_clause",
	Class:                              "class",
	ClassBody:                          "class_body",
	ClassDeclaration:                   "class_declaration",
	ClassHeritage:                      "class_heritage",
	ClassStaticBlock:                   "class_static_block",
	ComputedPropertyName:               "computed_property_name",
	ConditionalType:                    "conditional_type",
	Constraint:                         "constraint",
	ConstructSignature:                 "construct_signature",
	ConstructorType:                    "constructor_type",
	ContinueStatement:                  "continue_statement",
	DebuggerStatement:                  "debugger_statement",
	Decorator:                          "decorator",
	DefaultType:                        "default_type",
	DoStatement:                        "do_statement",
	ElseClause:                         "else_clause",
	EmptyStatement:                     "empty_statement",
	EnumAssignment:                     "enum_assignment",
	EnumBody:                           "enum_body",
	EnumDeclaration:                    "enum_declaration",
	ExistentialType:                    "existential_type",
	ExportClause:                       "export_clause",
	ExportSpecifier:                    "export_specifier",
	ExportStatement:                    "export_statement",
	ExpressionStatement:                "expression_statement",
	ExtendsClause:                      "extends_clause",
	ExtendsTypeClause:                  "extends_type_clause",
	False:                              "false",
	FieldDefinition:                    "field_definition",
	FinallyClause:                      "finally_clause",
	FlowMaybeType:                      "flow_maybe_type",
	ForInStatement:                     "for_in_statement",
	ForStatement:                       "for_statement",
	FormalParameters:                   "formal_parameters",
	FunctionDeclaration:                "function_declaration",
	FunctionExpression:                 "function_expression",
	FunctionSignature:                  "function_signature",
	FunctionType:                       "function_type",
	GeneratorFunction:                  "generator_function",
	GeneratorFunctionDeclaration:       "generator_function_declaration",
	GenericType:                        "generic_type",
	HashBangLine:                       "hash_bang_line",
	HtmlCharacterReference:             "html_character_reference",
	Identifier:                         "identifier",
	IfStatement:                        "if_statement",
	ImplementsClause:                   "implements_clause",
	Import:                             "import",
	ImportAlias:                        "import_alias",
	ImportAttribute:                    "import_attribute",
	ImportClause:                       "import_clause",
	ImportRequireClause:                "import_require_clause",
	ImportSpecifier:                    "import_specifier",
	ImportStatement:                    "import_statement",
	IndexSignature:                     "index_signature",
	IndexTypeQuery:                     "index_type_query",
	InferType:                          "infer_type",
	InstantiationExpression:            "instantiation_expression",
	InterfaceBody:                      "interface_body",
	InterfaceDeclaration:               "interface_declaration",
	InternalModule:                     "internal_module",
	IntersectionType:                   "intersection_type",
	JSXAttribute:                       "jsx_attribute",
	JSXClosingElement:                  "jsx_closing_element",
	JSXElement:                         "jsx_element",
	JSXExpression:                      "jsx_expression",
	JSXNamespaceName:                   "jsx_namespace_name",
	JSXOpeningElement:                  "jsx_opening_element",
	JSXSelfClosingElement:              "jsx_self_closing_element",
	JSXText:                            "jsx_text",
	LabeledStatement:                   "labeled_statement",
	LexicalDeclaration:                 "lexical_declaration",
	LiteralType:                        "literal_type",
	LookupType:                         "lookup_type",
	MappedTypeClause:                   "mapped_type_clause",
	MemberExpression:                   "member_expression",
	MetaProperty:                       "meta_property",
	MethodDefinition:                   "method_definition",
	MethodSignature:                    "method_signature",
	Module:                             "module",
	NamedImports:                       "named_imports",
	NamespaceExport:                    "namespace_export",
	NamespaceImport:                    "namespace_import",
	NestedIdentifier:                   "nested_identifier",
	NestedTypeIdentifier:               "nested_type_identifier",
	NewExpression:                      "new_expression",
	NonNullExpression:                  "non_null_expression",
	Null:                               "null",
	Number:                             "number",
	Object:                             "object",
	ObjectAssignmentPattern:            "object_assignment_pattern",
	ObjectPattern:                      "object_pattern",
	ObjectType:                         "object_type",
	OmittingTypeAnnotation:             "omitting_type_annotation",
	OptingTypeAnnotation:               "opting_type_annotation",
	OptionalChain:                      "optional_chain",
	OptionalParameter:                  "optional_parameter",
	OptionalType:                       "optional_type",
	OverrideModifier:                   "override_modifier",
	Pair:                               "pair",
	PairPattern:                        "pair_pattern",
	ParenthesizedExpression:            "parenthesized_expression",
	ParenthesizedType:                  "parenthesized_type",
	PredefinedType:                     "predefined_type",
	PrivatePropertyIdentifier:          "private_property_identifier",
	Program:                            "program",
	PropertyIdentifier:                 "property_identifier",
	PropertySignature:                  "property_signature",
	PublicFieldDefinition:              "public_field_definition",
	ReadonlyType:                       "readonly_type",
	Regex:                              "regex",
	RequiredParameter:                  "required_parameter",
	RestPattern:                        "rest_pattern",
	RestType:                           "rest_type",
	ReturnStatement:                    "return_statement",
	SatisfiesExpression:                "satisfies_expression",
	SequenceExpression:                 "sequence_expression",
	ShorthandPropertyIdentifier:        "shorthand_property_identifier",
	ShorthandPropertyIdentifierPattern: "shorthand_property_identifier_pattern",
	SpreadElement:                      "spread_element",
	StatementBlock:                     "statement_block",
	StatementIdentifier:                "statement_identifier",
	String:                             "string",
	SubscriptExpression:                "subscript_expression",
	Super:                              "super",
	SwitchBody:                         "switch_body",
	SwitchCase:                         "switch_case",
	SwitchDefault:                      "switch_default",
	SwitchStatement:                    "switch_statement",
	TemplateLiteralType:                "template_literal_type",
	TemplateString:                     "template_string",
	TemplateSubstitution:               "template_substitution",
	TemplateType:                       "template_type",
	TernaryExpression:                  "ternary_expression",
	This:                               "this",
	ThisType:                           "this_type",
	ThrowStatement:                     "throw_statement",
	True:                               "true",
	TryStatement:                       "try_statement",
	TupleType:                          "tuple_type",
	TypeAliasDeclaration:               "type_alias_declaration",
	TypeAnnotation:                     "type_annotation",
	TypeArguments:                      "type_arguments",
	TypeAssertion:                      "type_assertion",
	TypeIdentifier:                     "type_identifier",
	TypeParameter:                      "type_parameter",
	TypeParameters:                     "type_parameters",
	TypePredicate:                      "type_predicate",
	TypePredicateAnnotation:            "type_predicate_annotation",
	TypeQuery:                          "type_query",
	UnaryExpression:                    "unary_expression",
	Undefined:                          "undefined",
	UnionType:                          "union_type",
	UpdateExpression:                   "update_expression",
	VariableDeclaration:                "variable_declaration",
	VariableDeclarator:                 "variable_declarator",
	WhileStatement:                     "while_statement",
	WithStatement:                      "with_statement",
	YieldExpression:                    "yield_expression",
}

// Field is the role of a node in its parent, or NoField.
type Field uint8

// The fields are named as in the grammars.
const (
	NoField Field = iota
	FieldAlias
	FieldAlternative
	FieldArgument
	FieldArguments
	FieldAttribute
	FieldBody
	FieldCondition
	FieldConsequence
	FieldConstraint
	FieldConstructor
	FieldContent
	FieldDeclaration
	FieldDecorator
	FieldFinalizer
	FieldFlags
	FieldFunction
	FieldHandler
	FieldIncrement
	FieldIndex
	FieldIndexType
	FieldInitializer
	FieldKey
	FieldKind
	FieldLabel
	FieldLeft
	FieldMember
	FieldModule
	FieldName
	FieldObject
	FieldOperator
	FieldOptionalChain
	FieldParameter
	FieldParameters
	FieldPattern
	FieldProperty
	FieldReturnType
	FieldRight
	FieldSign
	FieldSource
	FieldType
	FieldTypeArguments
	FieldTypeParameters
	FieldValue

	fields int = iota
)

// fieldNames are the grammars' names of the fields.
var fieldNames = [fields]string{
	FieldAlias:          "alias",
	FieldAlternative:    "alternative",
	FieldArgument:       "argument",
	FieldArguments:      "arguments",
	FieldAttribute:      "attribute",
	FieldBody:           "body",
	FieldCondition:      "condition",
	FieldConsequence:    "consequence",
	FieldConstraint:     "constraint",
	FieldConstructor:    "constructor",
	FieldContent:        "content",
	FieldDeclaration:    "declaration",
	FieldDecorator:      "decorator",
	FieldFinalizer:      "finalizer",
	FieldFlags:          "flags",
	FieldFunction:       "function",
	FieldHandler:        "handler",
	FieldIncrement:      "increment",
	FieldIndex:          "index",
	FieldIndexType:      "index_type",
	FieldInitializer:    "initializer",
	FieldKey:            "key",
	FieldKind:           "kind",
	FieldLabel:          "label",
	FieldLeft:           "left",
	FieldMember:         "member",
	FieldModule:         "module",
	FieldName:           "name",
	FieldObject:         "object",
	FieldOperator:       "operator",
	FieldOptionalChain:  "optional_chain",
	FieldParameter:      "parameter",
	FieldParameters:     "parameters",
	FieldPattern:        "pattern",
	FieldProperty:       "property",
	FieldReturnType:     "return_type",
	FieldRight:          "right",
	FieldSign:           "sign",
	FieldSource:         "source",
	FieldType:           "type",
	FieldTypeArguments:  "type_arguments",
	FieldTypeParameters: "type_parameters",
	FieldValue:          "value",
}
