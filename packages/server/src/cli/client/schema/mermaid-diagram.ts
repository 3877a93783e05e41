/** A schema as a class diagram of Mermaid, which many viewers of Markdown draw. */
import type { TypeDefinition } from '@ashlar/client'
import { linksOf, type SchemaLink } from './schema-links.ts'
import { type SchemaState, typeOf } from './schema-state.ts'

export function mermaidDiagram(schema: SchemaState): string {
  const ids = new Map(schema.classes.map(({ className }, at) => [className, `c${at}`]))
  const id = (className: string): string => ids.get(className) ?? ''
  const classes = schema.classes.flatMap(({ className, isReferenceable, attributes }) => {
    const lines = attributes.map((attribute) => `    ${attribute.attributeName} ${wordsOf(typeOf(attribute))}`)
    return [
      `  class ${id(className)}["${className}"] {`,
      ...(isReferenceable ? [] : ['    <<embeddable>>']),
      ...lines,
      '  }',
    ]
  })
  const links = linksOf(schema).map((link) => `  ${lineOf(link, id)}`)
  return `${['classDiagram', ...classes, ...links].join('\n')}\n`
}

/** In plain words: braces would end the class, and Mermaid takes no commas between tildes, which are its generics. */
function wordsOf(type: TypeDefinition): string {
  const { logicalType, referencedClass, class: embedded, elementSpecification: element, keySpecification: key } = type
  if (referencedClass !== undefined) return referencedClass
  if (embedded !== undefined) return embedded
  const kind = `${logicalType.charAt(0).toUpperCase()}${logicalType.slice(1)}`
  if (element === undefined) return kind
  return `${kind} of ${wordsOf(element)}${key === undefined ? '' : ` by ${wordsOf(key)}`}`
}

function lineOf({ from, to, kind, label, isMany, isManyBack }: SchemaLink, id: (className: string) => string): string {
  if (kind === 'extends') return `${id(to)} <|-- ${id(from)}`
  const back = isManyBack === undefined ? '' : `"${isManyBack ? '*' : '1'}" `
  const arrow = kind === 'embeds' ? '*--' : isManyBack === undefined ? '-->' : '--'
  return `${id(from)} ${back}${arrow} "${isMany ? '*' : '1'}" ${id(to)} : ${label}`
}
