/** Differences between two schemas, line by line, grouped by class. */
import type { ListedClass, SchemaState } from './schema-state.ts'
import { attributeText, classText, indexText, sequenceText } from './schema-text.ts'

/** Returns lines only in `current`, with `-`, and lines only in `target`, with `+`; [] if the schemas are equal. */
export function differencesOf(current: SchemaState, target: SchemaState): string[] {
  const [old, next] = [current, target].map(({ classes }) => new Map(classes.map((cls) => [cls.className, cls])))
  const classLines = [...new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])].sort().flatMap((name) => {
    const [before, after] = [old?.get(name), next?.get(name)]
    if (before === undefined) return after === undefined ? [] : classText(after, 'asNeeded').map((line) => `+ ${line}`)
    return after === undefined
      ? classText(before, 'asNeeded').map((line) => `- ${line}`)
      : differencesOfClass(before, after)
  })
  const [were = [], are = []] = [current, target].map(({ indexes, sequences }) => [
    ...indexes.map((index) => indexText(index, 'asNeeded')),
    ...sequences.map((sequence) => sequenceText(sequence, 'asNeeded')),
  ])
  return [...classLines, ...linesOf(were, are)]
}

function differencesOfClass(before: ListedClass, after: ListedClass): string[] {
  const [old = '', next = ''] = [before, after].map((cls) => classText({ ...cls, attributes: [] }, 'asNeeded')[0] ?? '')
  const [attributesBefore = [], attributesAfter = []] = [before, after].map(({ attributes }) => {
    return attributes.map((attribute) => `  ${attributeText(attribute, 'asNeeded')}`).sort()
  })
  const lines = linesOf(attributesBefore, attributesAfter)
  const open = (head: string): string => head.replace(/ \{\}$/, ' {')
  if (old !== next) return [`- ${open(old)}`, `+ ${open(next)}`, ...lines]
  return lines.length === 0 ? [] : [`  ${open(old)}`, ...lines]
}

function linesOf(old: readonly string[], next: readonly string[]): string[] {
  const [before, after] = [new Set(old), new Set(next)]
  return [
    ...old.filter((line) => !after.has(line)).map((line) => `- ${line}`),
    ...next.filter((line) => !before.has(line)).map((line) => `+ ${line}`),
  ]
}
