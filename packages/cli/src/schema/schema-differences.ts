/** Differences between two schemas, line by line, grouped by class. */
import { isSameClass, type ListedClass, type SchemaState } from './schema-state.ts'
import { classText, indexText, memberTexts, sequenceText } from './schema-text.ts'

/** Returns lines only in `current`, with `-`, and lines only in `target`, with `+`; [] if the schemas are equal. */
export function differencesOf(current: SchemaState, target: SchemaState): string[] {
  const [old, next] = [current, target].map(({ classes }) => new Map(classes.map((cls) => [cls.className, cls])))
  const classLines = [...new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])].sort().flatMap((name) => {
    const [before, after] = [old?.get(name), next?.get(name)]
    if (before === undefined) return after === undefined ? [] : marked('+', classText(after, 'asNeeded'))
    return after === undefined ? marked('-', classText(before, 'asNeeded')) : differencesOfClass(before, after)
  })
  const [were = [], are = []] = [current, target].map(({ indexes, sequences }) => [
    ...indexes.map((index) => indexText(index, 'asNeeded')),
    ...sequences.map((sequence) => sequenceText(sequence, 'asNeeded')),
  ])
  return [...classLines, ...differencesBetween(were, are)]
}

function differencesOfClass(before: ListedClass, after: ListedClass): string[] {
  if (isSameClass(before, after)) return []
  const [old = '', next = ''] = [before, after].map(headOf)
  const [membersBefore = [], membersAfter = []] = [before, after].map((cls) => {
    return memberTexts(cls, 'asNeeded')
      .map((member) => `  ${member}`)
      .sort()
  })
  const lines = differencesBetween(membersBefore, membersAfter)
  return old === next ? [`  ${old}`, ...lines] : [`- ${old}`, `+ ${next}`, ...lines]
}

/** The first line of the class. */
function headOf({ properties: { checks: _, ...properties }, ...cls }: ListedClass): string {
  const [head = ''] = classText({ ...cls, attributes: [], properties }, 'asNeeded')
  return head.replace(/ \{\}$/, ' {')
}

function differencesBetween(old: readonly string[], next: readonly string[]): string[] {
  const [before, after] = [new Set(old), new Set(next)]
  const [gone, added] = [old.filter((text) => !after.has(text)), next.filter((text) => !before.has(text))]
  return [...marked('-', gone), ...marked('+', added)]
}

/** Expressions and texts may have several lines. */
function marked(sign: '-' | '+', texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split('\n')).map((line) => `${sign} ${line}`)
}
