/** A schema as a class diagram of Mermaid, which many viewers of Markdown draw. */
import { linksOf, type SchemaLink } from './schema-links.ts'
import { type SchemaState, typeOf } from './schema-state.ts'
import { typeText } from './schema-text.ts'

export function mermaidDiagram(schema: SchemaState): string {
  const ids = new Map(schema.classes.map(({ className }, at) => [className, `c${at}`]))
  const id = (className: string): string => ids.get(className) ?? ''
  const classes = schema.classes.flatMap(({ className, isReferenceable, attributes }) => {
    // Braces would end the class.
    const lines = attributes.map(
      (attribute) =>
        `    ${attribute.attributeName} ${typeText(typeOf(attribute), 'asNeeded').replaceAll(/[{}]/g, '~')}`,
    )
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

function lineOf({ from, to, kind, label, isMany, isManyBack }: SchemaLink, id: (className: string) => string): string {
  if (kind === 'extends') return `${id(to)} <|-- ${id(from)}`
  const back = isManyBack === undefined ? '' : `"${isManyBack ? '*' : '1'}" `
  const arrow = kind === 'embeds' ? '*--' : isManyBack === undefined ? '-->' : '--'
  return `${id(from)} ${back}${arrow} "${isMany ? '*' : '1'}" ${id(to)} : ${label}`
}
