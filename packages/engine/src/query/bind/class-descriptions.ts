/** UPDATE SCHEMA as class descriptions: what POST and PUT /v1/schema take (DO, section 3; interface, 2.3). */

import { simpleNameOf } from '../../schema/names.ts'
import type { AttributeDeclaration, QualifiedName, SchemaChange, TypeExpression } from '../ast.ts'
import { shownPiece } from '../query-error.ts'
import { refuseRoot, resolveClass } from './class-names.ts'
import type { Binding } from './scope.ts'

/** Definition fields by the words of DO, which are taken in any case; KeyType and CollectionName are those of the original. */
const settingFields: Readonly<Record<string, string>> = {
  encoding: 'encoding',
  storage: 'storage',
  fixedlength: 'fixedLength',
  referenced: 'referencedClass',
  inverse: 'inverseAttribute',
  class: 'class',
  element: 'elementSpecification',
  key: 'keySpecification',
  keytype: 'keySpecification',
  collectiontypename: 'collectionTypeName',
  collectionname: 'collectionTypeName',
}

/** Settings whose value is the name of a class, and those whose value is a type. */
const classSettings = ['referencedClass', 'class']
const typeSettings = ['elementSpecification', 'keySpecification']

export interface ClassDescriptionBody {
  readonly className: string
  readonly isReferenceable?: boolean
  readonly superClass?: string
  readonly attributes: readonly Record<string, unknown>[]
}

/** Changes that add: classes and attributes. They are one batch, so that classes may refer to each other. */
export type AddingChange = Extract<SchemaChange, { kind: 'createClass' | 'alterClass' }>

/** Throws QueryError for what is no definition; the schema's own rules are checked where it is changed. */
export function classDescriptions(changes: readonly AddingChange[], binding: Binding): ClassDescriptionBody[] {
  const created = changes.filter((change) => change.kind === 'createClass').map(({ className }) => className.text)
  const classNamed = (name: QualifiedName): string => {
    if (created.includes(name.text)) return name.text
    const bySimpleName = created.filter((known) => simpleNameOf(known) === name.text)
    const [only] = bySimpleName
    return only !== undefined && bySimpleName.length === 1 ? only : resolveClass(binding, name).name
  }
  return changes.map((change) => {
    if (change.kind === 'alterClass') {
      const attributes = change.alterations.flatMap((alteration) => {
        return alteration.kind === 'add' ? [describeAttribute(alteration.attribute, classNamed, binding)] : []
      })
      const cls = refuseRoot(binding, change.className, resolveClass(binding, change.className))
      return { className: cls.name, attributes }
    }
    const { className, superClass, isEmbeddable, attributes } = change
    return {
      className: className.text,
      isReferenceable: !isEmbeddable,
      ...(superClass === undefined ? {} : { superClass: classNamed(superClass) }),
      attributes: attributes.map((attribute) => describeAttribute(attribute, classNamed, binding)),
    }
  })
}

/** An attribute of a class that exists, as PUT /v1/schema/{class} takes it. */
export function attributeDescription(attribute: AttributeDeclaration, binding: Binding): Record<string, unknown> {
  return describeAttribute(attribute, (name) => resolveClass(binding, name).name, binding)
}

type ClassNamed = (name: QualifiedName) => string

function describeAttribute(
  { name, type }: AttributeDeclaration,
  classNamed: ClassNamed,
  binding: Binding,
): Record<string, unknown> {
  return { attributeName: name, ...describeType(type, classNamed, binding) }
}

function describeType(type: TypeExpression, classNamed: ClassNamed, binding: Binding): Record<string, unknown> {
  const definition: Record<string, unknown> = { logicalType: type.name.toLowerCase() }
  for (const { name, value, start, end } of type.settings) {
    const field = settingFields[name.toLowerCase()]
    if (field === undefined) {
      const known = 'Encoding, Storage, FixedLength, Referenced, Inverse, Class, Element, Key and CollectionTypeName'
      throw binding.error({ start, end }, `a type has no setting '${shownPiece(name)}'; there are ${known}`)
    }
    if (field in definition) throw binding.error({ start, end }, `the setting ${name} is given twice`)
    definition[field] = settingValue(field, value, classNamed, binding)
  }
  return definition
}

function settingValue(
  field: string,
  value: TypeExpression | number,
  classNamed: ClassNamed,
  binding: Binding,
): unknown {
  if (typeof value === 'number') return value
  if (classSettings.includes(field)) return classNamed({ text: value.name, start: value.start, end: value.end })
  if (typeSettings.includes(field)) return describeType(value, classNamed, binding)
  return field === 'encoding' || field === 'storage' ? value.name.toLowerCase() : value.name
}
