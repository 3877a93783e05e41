/** Formats plans as indented text: one operator per line, with its inputs below. */
import type { DescribedPlan } from './describe-statement.ts'

/** Text of one statement, ending with a line break. `isHeaded`: one of several, preceded by its source. */
export function planText(plan: DescribedPlan, isHeaded: boolean): string {
  const header = isHeaded ? [`Statement: ${displayText(plan.statement)}`] : []
  return [...header, ...statementLines(plan), ''].join('\n')
}

function statementLines(plan: DescribedPlan): string[] {
  const lines = treeLines(plan, 0)
  const { entriesCounted, milliseconds, objectsRead, linksRead, heldBytesMax, changedBytesMax } = plan
  if (entriesCounted !== undefined) lines.push(`Entries counted for estimates: ${entriesCounted}`)
  if (objectsRead !== undefined) lines.push(`Read: objects=${objectsRead} links=${linksRead}`)
  if (heldBytesMax !== undefined) {
    const changed = changedBytesMax === undefined ? '' : ` changed=${changedBytesMax}`
    lines.push(`Peak memory in bytes: held=${heldBytesMax}${changed}`)
  }
  if (milliseconds !== undefined) lines.push(`Execution time: ${formatMs(milliseconds)} ms`)
  return lines
}

/** Fields that are displayed elsewhere, or belong to the statement as a whole. */
const placedFields: ReadonlySet<string> = new Set([
  'operator',
  'statement',
  'class',
  'classes',
  'index',
  'inputs',
  'nested',
  'otherPlans',
  'candidates',
  'estimatedRows',
  'isAtLeast',
  'isChosen',
  'examined',
  'returned',
  'spilledRuns',
  'spilledBytes',
  'loops',
  'entriesCounted',
  'objectsRead',
  'linksRead',
  'milliseconds',
  'heldBytesMax',
  'changedBytesMax',
])

/** `depth`: depth in the plan tree. */
function treeLines(plan: DescribedPlan, depth: number): string[] {
  const indent = depth === 0 ? '' : ' '.repeat(6 * depth - 4)
  const below = ' '.repeat(6 * depth + 2)
  const lines = [`${indent}${depth === 0 ? '' : '->  '}${titleOf(plan)}${estimateOf(plan)}${countsOf(plan)}`]
  for (const [name, value] of Object.entries(plan)) {
    const isDisplayed = value !== undefined && value !== null && value !== false && !placedFields.has(name)
    if (isDisplayed) lines.push(`${below}${labelOf(name)}: ${displayText(value)}`)
  }
  for (const candidate of plansIn(plan.candidates)) {
    const conditions = candidate.conditions === undefined ? '' : ` (${displayText(candidate.conditions)})`
    const chosen = candidate.isChosen === true ? ', chosen' : ''
    lines.push(`${below}Candidate: ${titleOf(candidate)}${conditions}${estimateOf(candidate)}${chosen}`)
  }
  for (const input of plansIn(plan.inputs)) lines.push(...treeLines(input, depth + 1))
  for (const nested of plansIn(plan.nested)) {
    lines.push(`${below}Nested: ${displayText(nested.statement)}`, ...treeLines(nested, depth + 1))
  }
  for (const other of plansIn(plan.otherPlans)) lines.push(`${below}At other times:`, ...treeLines(other, depth + 1))
  return lines
}

function plansIn(value: unknown): readonly DescribedPlan[] {
  return Array.isArray(value) ? (value as readonly DescribedPlan[]) : []
}

function titleOf({ operator, class: name, index }: DescribedPlan): string {
  const of = name === undefined ? '' : ` on ${name}`
  const by = index === undefined ? '' : ` using ${index}`
  return `${capitalized(wordsOf(String(operator)))}${of}${by}`
}

function estimateOf({ estimatedRows, isAtLeast }: DescribedPlan): string {
  if (estimatedRows === undefined) return ''
  return `  (estimated rows${isAtLeast === true ? '>=' : '='}${estimatedRows})`
}

function countsOf(plan: DescribedPlan): string {
  const { examined, returned, spilledRuns, spilledBytes, milliseconds, objectsRead, linksRead, loops } = plan
  const parts = [
    ...(returned === undefined ? [] : [`examined=${examined}`, `rows=${returned}`]),
    ...(spilledRuns === undefined ? [] : [`spilled: runs=${spilledRuns}`, `bytes=${spilledBytes}`]),
    ...(milliseconds === undefined ? [] : [`objects=${objectsRead}`, `links=${linksRead}`]),
    ...(milliseconds === undefined ? [] : [`time=${formatMs(milliseconds)} ms`]),
    ...(loops === undefined ? [] : [`loops=${loops}`]),
  ]
  return parts.length === 0 ? '' : `  (${parts.join(' ')})`
}

function formatMs(ms: unknown): string {
  return Number(ms).toFixed(3)
}

/** `isUnique` → `Unique`, `backwardBy` → `Backward by`. */
function labelOf(name: string): string {
  return capitalized(wordsOf(name.replace(/^is(?=[A-Z])/, '')))
}

function wordsOf(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase()
}

function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** On one line, whatever white space the value contains. */
function displayText(value: unknown): string {
  if (value === true) return 'yes'
  if (Array.isArray(value)) return value.map(displayText).join(', ')
  return String(value).replace(/\s+/g, ' ')
}
