/** Draws a schema as a diagram in Mermaid, which many viewers of Markdown show, or in SVG. */
import type { AttributeDefinition, TypeDefinition } from '@ashlar/client'
import { type ListedClass, type SchemaState, typeOf } from './schema-state.ts'
import { typeText } from './schema-text.ts'

export interface SchemaLink {
  readonly from: string
  readonly to: string
  readonly kind: 'extends' | 'embeds' | 'refers'
  /** The attribute, or both attributes of a bidirectional link. */
  readonly label: string
  /** Whether `from` may have several of `to`, and the reverse, if known. */
  readonly isMany: boolean
  readonly isManyBack: boolean | undefined
}

/** Returns links between classes of the schema; both directions of a link are one line. */
function linksOf({ classes }: SchemaState): SchemaLink[] {
  const byName = new Map(classes.map((cls) => [cls.className, cls]))
  const drawn = new Set<string>()
  return classes.flatMap(({ className, superClass, attributes }): SchemaLink[] => {
    const above = superClass !== null && byName.has(superClass) ? [superClass] : []
    const attributeLinks = attributes.flatMap((attribute): SchemaLink[] => {
      const { referencedClass, inverseAttribute, class: embedded } = targetOf(attribute)
      const to = referencedClass ?? embedded
      if (to === undefined || !byName.has(to) || drawn.has(`${className}.${attribute.attributeName}`)) return []
      const inverse = byName.get(to)?.attributes.find(({ attributeName }) => attributeName === inverseAttribute)
      if (inverse !== undefined) drawn.add(`${to}.${inverse.attributeName}`)
      return [
        {
          from: className,
          to,
          kind: referencedClass === undefined ? 'embeds' : 'refers',
          label:
            inverse === undefined ? attribute.attributeName : `${attribute.attributeName} / ${inverse.attributeName}`,
          isMany: isMany(attribute),
          isManyBack: inverse === undefined ? undefined : isMany(inverse),
        },
      ]
    })
    const extended = above.map((to): SchemaLink => {
      return { from: className, to, kind: 'extends', label: '', isMany: false, isManyBack: undefined }
    })
    return [...extended, ...attributeLinks]
  })
}

function targetOf(attribute: AttributeDefinition): Omit<AttributeDefinition, 'attributeName'> {
  return attribute.elementSpecification ?? attribute
}

function isMany({ elementSpecification }: AttributeDefinition): boolean {
  return elementSpecification !== undefined
}

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

/** Describes a type in words: braces would end the class, and Mermaid uses tildes for generics. */
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

const size = { character: 7, line: 18, padding: 10, gapX: 70, gapY: 60, attributeCharactersMax: 60 } as const

interface Box {
  readonly cls: ListedClass
  readonly lines: readonly string[]
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export function svgDiagram(schema: SchemaState): string {
  const boxes = placed(schema)
  const byName = new Map(boxes.map((box) => [box.cls.className, box]))
  const width = Math.max(0, ...boxes.map((box) => box.x + box.width)) + size.gapX / 2
  const height = Math.max(0, ...boxes.map((box) => box.y + box.height)) + size.gapY / 2
  const links = linksOf(schema).flatMap((link) => {
    const [from, to] = [byName.get(link.from), byName.get(link.to)]
    return from === undefined || to === undefined ? [] : [linkShape(link, from, to)]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="12">`,
    '<style>rect{fill:#fff;stroke:#456}.head{fill:#e8eef5}path{fill:none;stroke:#789}.name{font-weight:bold}.link{fill:#567;font-size:11px}</style>',
    '<defs>',
    '<marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8"/></marker>',
    '<marker id="extends" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="10" markerHeight="10" orient="auto"><path d="M0 0 10 5 0 10z" style="fill:#fff"/></marker>',
    '</defs>',
    ...links,
    ...boxes.map(boxShape),
    '</svg>',
    '',
  ].join('\n')
}

/** Places classes in a row for each depth of inheritance; a row is wrapped if it is wider than the diagram is high. */
function placed({ classes }: SchemaState): Box[] {
  const byName = new Map(classes.map((cls) => [cls.className, cls]))
  const depthOf = ({ superClass }: ListedClass): number => {
    const above = superClass === null ? undefined : byName.get(superClass)
    return above === undefined ? 0 : 1 + depthOf(above)
  }
  const sized = classes.map((cls) => ({ cls, depth: depthOf(cls), ...sizeOf(cls) }))
  const area = sized.reduce((sum, box) => sum + (box.width + size.gapX) * (box.height + size.gapY), 0)
  const widthMax = Math.max(600, Math.sqrt(area) * 1.3)
  const boxes: Box[] = []
  let y: number = size.gapY / 2
  for (const depth of [...new Set(sized.map((box) => box.depth))].sort((one, other) => one - other)) {
    let x: number = size.gapX / 2
    let rowHeight = 0
    for (const { cls, lines, width, height } of sized.filter((box) => box.depth === depth)) {
      if (x > size.gapX && x + width > widthMax) {
        x = size.gapX / 2
        y += rowHeight + size.gapY
        rowHeight = 0
      }
      boxes.push({ cls, lines, x, y, width, height })
      x += width + size.gapX
      rowHeight = Math.max(rowHeight, height)
    }
    y += rowHeight + size.gapY
  }
  return boxes
}

function sizeOf(cls: ListedClass): Pick<Box, 'lines' | 'width' | 'height'> {
  const lines = cls.attributes.map((attribute) => {
    const text = `${attribute.attributeName}: ${typeText(typeOf(attribute), 'asNeeded')}`
    return text.length > size.attributeCharactersMax ? `${text.slice(0, size.attributeCharactersMax)}…` : text
  })
  const characters = Math.max(titleOf(cls).length, ...lines.map(({ length }) => length))
  return {
    lines,
    width: Math.ceil(characters * size.character + 2 * size.padding),
    height: (lines.length + 1) * size.line + size.padding,
  }
}

function titleOf({ className, isReferenceable }: ListedClass): string {
  return isReferenceable ? className : `${className} (embeddable)`
}

function boxShape({ cls, lines, x, y, width, height }: Box): string {
  const textX = x + size.padding
  const texts = lines.map((line, at) => `<text x="${textX}" y="${y + (at + 2) * size.line}">${escaped(line)}</text>`)
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}"/>`,
    `<rect class="head" x="${x}" y="${y}" width="${width}" height="${size.line + 4}"/>`,
    `<text class="name" x="${textX}" y="${y + size.line - 3}">${escaped(titleOf(cls))}</text>`,
    ...texts,
  ].join('')
}

function linkShape({ kind, label }: SchemaLink, from: Box, to: Box): string {
  if (from === to) {
    const [x, y] = [from.x + from.width, from.y + size.line]
    return `<path d="M${x} ${y}h25v${size.line}h-25" marker-end="url(#to)"/><text class="link" x="${x + 4}" y="${y - 4}">${escaped(label)}</text>`
  }
  const [start, end] = [edgeTowards(from, to), edgeTowards(to, from)]
  const style = kind === 'embeds' ? ' stroke-dasharray="5 3"' : ''
  const marker = kind === 'extends' ? 'extends' : 'to'
  const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }
  return (
    `<path d="M${round(start.x)} ${round(start.y)}L${round(end.x)} ${round(end.y)}"${style} marker-end="url(#${marker})"/>` +
    `<text class="link" text-anchor="middle" x="${round(middle.x)}" y="${round(middle.y - 4)}">${escaped(label)}</text>`
  )
}

interface Point {
  readonly x: number
  readonly y: number
}

function edgeTowards(box: Box, other: Box): Point {
  const [center, aim] = [box, other].map(
    ({ x, y, width, height }): Point => ({ x: x + width / 2, y: y + height / 2 }),
  ) as [Point, Point]
  const [dx, dy] = [aim.x - center.x, aim.y - center.y]
  const part = Math.min(box.width / 2 / Math.abs(dx || 1e-9), box.height / 2 / Math.abs(dy || 1e-9))
  return { x: center.x + dx * part, y: center.y + dy * part }
}

function round(value: number): number {
  return Math.round(value)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
