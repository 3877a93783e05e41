/** The output of `\d`: a list of classes, or the details of one class. */
import type { ClassRepresentation } from '@ashlar/client'
import { type TableOptions, tableLines } from '../output/table.ts'
import { numberText } from '../output/texts.ts'
import { typeOf } from '../schema/schema-state.ts'
import { typeText } from '../schema/schema-text.ts'
import type { SchemaView } from './known-schema.ts'

/** `counts`: objects by class, without subclasses, if requested. */
export function classLines(
  schema: SchemaView,
  options: TableOptions,
  counts: ReadonlyMap<string, number> | undefined,
): string[] {
  if (schema.classes.length === 0) return ['There are no classes.']
  const rows = schema.classes.map((cls) => {
    const count = counts?.get(cls.className)
    const kind = cls.isReferenceable ? '' : 'embeddable'
    const row = [cls.className, cls.superClass ?? '', String(cls.attributes.length), kind]
    return counts === undefined ? row : [...row, count === undefined ? '' : numberText(count)]
  })
  const head = ['Class', 'Superclass', 'Attributes', '']
  return tableLines(counts === undefined ? head : [...head, 'Objects'], rows, options)
}

export function describedClass(cls: ClassRepresentation, schema: SchemaView, options: TableOptions): string[] {
  const { className, superClass, isReferenceable } = cls
  const kind = isReferenceable ? 'Class' : 'Embeddable class'
  const attributes = schema.attributesOf(cls).map((entry) => {
    const { attributeName } = entry.attribute
    return [
      attributeName,
      typeText(typeOf(entry.attribute), 'asNeeded'),
      entry.className === className ? '' : entry.className,
    ]
  })
  const isInherited = attributes.some(([, , from]) => from !== '')
  const rows = isInherited ? attributes : attributes.map((row) => row.slice(0, 2))
  const head = isInherited ? ['Attribute', 'Type', 'Of'] : ['Attribute', 'Type']
  const subclasses = schema.subclassesOf(cls).map((subclass) => subclass.className)
  return [
    `${kind} ${className}${superClass === null ? '' : `, superclass ${superClass}`}`,
    ...(rows.length === 0 ? ['No attributes.'] : tableLines(head, rows, options)),
    ...(subclasses.length === 0 ? [] : [`Subclasses: ${subclasses.join(', ')}`]),
    ...indexLines(cls, schema),
  ]
}

function indexLines(cls: ClassRepresentation, schema: SchemaView): string[] {
  const line = schema.lineOf(cls).map(({ className }) => className)
  const indexes = schema.indexes.filter(({ indexedClass }) => line.includes(indexedClass))
  if (indexes.length === 0) return []
  return [
    'Indexes:',
    ...indexes.map(({ name, isUnique, keyAttributes, indexedClass, state }) => {
      const keys = keyAttributes.map(({ attributeName }) => attributeName).join(', ')
      const of = indexedClass === cls.className ? '' : `, of ${indexedClass}`
      return `  ${name} (${keys})${isUnique ? ', unique' : ''}${of}${state === 'ready' ? '' : `, ${state}`}`
    }),
  ]
}
