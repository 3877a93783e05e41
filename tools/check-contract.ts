/** Checks that each rule of docs/contract.md has a test that names it, and each test a rule. */
import type { CheckResult, Finding } from './finding.ts'
import type { ProjectFiles } from './project-files.ts'
import { isNode, nodesOf, parseSource } from './source.ts'

const contract = 'docs/contract.md'

interface Rule {
  readonly line: number
  readonly planned: boolean
}

interface Citation {
  readonly id: string
  readonly file: string
  readonly line: number
}

/**
 * A rule is a list item `- **4.2.1** text`, ending with `*(planned)*` while nothing keeps it yet; a test cites rules by
 * `rule('4.2.1', …)` or `rule(['4.2.1', '4.2.2'], …)`.
 */
export function checkContract(files: ProjectFiles): CheckResult {
  const text = files.get(contract)
  if (text === undefined) return { findings: [{ file: contract, message: 'the contract is missing' }], summary: '' }
  const findings: Finding[] = []
  const rules = readRules(text, findings)
  const cited = new Set<string>()
  for (const { id, file, line } of readCitations(files, findings)) {
    cited.add(id)
    const rule = rules.get(id)
    if (rule === undefined) findings.push({ file, line, message: `there is no rule ${id} in ${contract}` })
  }
  for (const [id, { line, planned }] of rules) {
    if (!planned && !cited.has(id)) findings.push({ file: contract, line, message: `no test names rule ${id}` })
    if (planned && cited.has(id)) {
      findings.push({ file: contract, line, message: `rule ${id} is tested: it is no longer planned` })
    }
  }
  return { findings, summary: matrix(rules, cited) }
}

function readRules(text: string, findings: Finding[]): Map<string, Rule> {
  const rules = new Map<string, Rule>()
  const lines = text.split('\n')
  for (const [index, start] of lines.entries()) {
    const label = /^\s*[-*] \*\*([^*]+)\*\*/.exec(start)?.[1]
    if (label === undefined || !/^\d/.test(label)) continue
    const line = index + 1
    if (!/^\d+(\.\d+)+$/.test(label)) findings.push({ file: contract, line, message: `${label} is no rule number` })
    if (rules.has(label)) findings.push({ file: contract, line, message: `rule ${label} is there twice` })
    rules.set(label, { line, planned: itemText(lines, index).endsWith('*(planned)*') })
  }
  return rules
}

/** The item with the indented lines that continue it. */
function itemText(lines: readonly string[], index: number): string {
  let end = index + 1
  while (/^\s+[^\s*-]/.test(lines[end] ?? '')) end++
  return lines.slice(index, end).join('\n').trimEnd()
}

function readCitations(files: ProjectFiles, findings: Finding[]): Citation[] {
  const citations: Citation[] = []
  for (const [file, text] of files) {
    if (!/^packages\/[^/]+\/test\/.*\.tsx?$/.test(file) || !text.includes('rule')) continue
    const source = parseSource(file, text)
    for (const node of nodesOf(source.program)) {
      if (node.type !== 'CallExpression' || !isRuleCall(node.callee)) continue
      const line = source.lineOf(node.start)
      const ids = literalIds((node.arguments as unknown[])[0])
      if (ids === undefined) findings.push({ file, line, message: 'rule() takes its numbers as literals' })
      else citations.push(...ids.map((id) => ({ id, file, line })))
    }
  }
  return citations
}

/** `rule(…)`, and its variants `rule.skip(…)`. */
function isRuleCall(callee: unknown): boolean {
  if (!isNode(callee)) return false
  return callee.type === 'MemberExpression' ? isRuleCall(callee.object) : callee.name === 'rule'
}

function literalIds(argument: unknown): string[] | undefined {
  if (!isNode(argument)) return undefined
  const elements = argument.type === 'ArrayExpression' ? (argument.elements as unknown[]) : [argument]
  const ids = elements.map((element) => (isNode(element) ? element.value : undefined))
  return ids.every((id) => typeof id === 'string') ? ids : undefined
}

/** A chapter a column: rules tested of rules, and how many are planned. */
function matrix(rules: ReadonlyMap<string, Rule>, cited: ReadonlySet<string>): string {
  const chapters = new Map<string, { rules: number; tested: number; planned: number }>()
  for (const [id, { planned }] of rules) {
    const chapter = id.split('.')[0] ?? ''
    const count = chapters.get(chapter) ?? { rules: 0, tested: 0, planned: 0 }
    count.rules++
    if (cited.has(id)) count.tested++
    if (planned) count.planned++
    chapters.set(chapter, count)
  }
  const parts = [...chapters].map(([chapter, count]) => {
    return `${chapter}: ${count.tested}/${count.rules}${count.planned ? ` (${count.planned} planned)` : ''}`
  })
  return `rules tested, by chapter  ${parts.join('  ')}`
}
