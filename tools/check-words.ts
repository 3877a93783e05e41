/** Checks that names and comments of the packages use the terms of the field: words given up in favour of one do not come back. */
import type { CheckResult, Finding } from './finding.ts'
import type { ProjectFiles } from './project-files.ts'
import { nodesOf, parseSource, type Source } from './source.ts'

interface OldWord {
  /** In lower case, parted by blanks: found in names of any case (`expectAbsent` has `expect absent`), and in comments. */
  readonly words: string
  readonly use: string
  /** Plain English in a comment, such as "what was found out". */
  readonly isOfNames?: boolean
  /** Files that mean something else by it. */
  readonly except?: RegExp
}

/** Refused words, and what to write instead; `docs/glossary.md` has the terms that stay our own. */
const oldWords: readonly OldWord[] = [
  // The Expect header of HTTP asks for expectations.
  { words: 'expectation', use: 'precondition', except: /^packages\/(server|client)\// },
  { words: 'expect absent', use: 'require absent', isOfNames: true },
  { words: 'expect revision', use: 'require revision', isOfNames: true },
  { words: 'expect unchanged', use: 'require unchanged', isOfNames: true },
  { words: 'snapshots are whole', use: 'consistent snapshots' },
  { words: 'reads are immediate', use: 'synchronous reads' },
  { words: 'moment passed', use: 'snapshot invalidated' },
  { words: 'store facts', use: 'store capabilities' },
  { words: 'commit stamp', use: 'commit ID' },
  { words: 'stamp', use: 'commit ID' },
  { words: 'lane', use: 'stripe, or contention queue' },
  { words: 'tape', use: 'allocation log' },
  { words: 'overlaid', use: 'merged' },
  { words: 'breath', use: 'yield' },
  { words: 'breathe', use: 'yield' },
  { words: 'lender', use: 'borrow tracker' },
  { words: 'lent', use: 'borrowed (bytes), pushed (rows), or yielded (a slot)' },
  { words: 'lend', use: 'borrow, push (rows), or yield (a slot)' },
  { words: 'asked keys', use: 'read batch' },
  { words: 'found out', use: 'resolve (an unknown outcome)', isOfNames: true },
  { words: 'took too long', use: 'timeout', isOfNames: true },
  { words: 'lasting failure', use: 'fatal failure' },
  { words: 'sign of life', use: 'heartbeat' },
  { words: 'young containers', use: 'new containers', isOfNames: true },
  { words: 'changing values', use: 'pending types', isOfNames: true },
  { words: 'becoming format', use: 'pending type' },
  { words: 'shape view', use: 'shape decoder' },
  { words: 'misfit', use: 'lossy value' },
  { words: 'is cut', use: 'truncated', isOfNames: true },
  { words: 'link form', use: 'link storage', isOfNames: true },
  { words: 'link garbage', use: 'dropped link attributes' },
  { words: 'list of garbage', use: 'list of dropped indexes' },
  { words: 'entered attribute', use: 'staged attribute' },
  { words: 'shown text', use: 'truncate for message', isOfNames: true },
  { words: 'shown value', use: 'format for message', isOfNames: true },
  { words: 'text run', use: 'script executor' },
  { words: 'text state', use: 'script state', isOfNames: true },
  { words: 'text context', use: 'script context', isOfNames: true },
  { words: 'statement plans', use: 'plan cache', isOfNames: true },
  { words: 'new binding', use: 'create binder', isOfNames: true },
  { words: 'objects plan', use: 'source plan' },
  { words: 'limiter', use: 'limit' },
  { words: 'work out', use: 'evaluate', isOfNames: true },
  { words: 'constant of', use: 'evaluate constant', isOfNames: true },
  { words: 'wanted objects', use: 'missing objects', isOfNames: true },
  { words: 'door', use: 'entry point' },
  { words: 'rest interface section', use: 'contract, with the number of the rule' },
  { words: 'do section', use: 'docs/query-language.md, with the heading' },
]

const packageSource = /^packages\/[^/]+\/src\/.*\.(ts|tsx|mts)$/

/** Finds the first refused word, if any, in a text as `wordsOfText` gives it. */
type Search = (words: string) => OldWord | undefined

export function checkWords(files: ProjectFiles, words: readonly OldWord[] = oldWords): CheckResult {
  const findings: Finding[] = []
  for (const [file, text] of files) {
    if (!packageSource.test(file)) continue
    const refused = words.filter(({ except }) => except?.test(file) !== true)
    const inNames = searchFor(refused)
    const inComments = searchFor(refused.filter(({ isOfNames }) => isOfNames !== true))
    findings.push(...findingsIn(file, parseSource(file, text), inNames, inComments))
  }
  return { findings, summary: `${words.length} words are not used` }
}

/** Also the plural of the last word. */
function searchFor(refused: readonly OldWord[]): Search {
  const byWords = new Map(refused.map((word) => [word.words, word]))
  const pattern = new RegExp(` (${[...byWords.keys()].join('|')})s? `)
  return (words) => byWords.get(pattern.exec(words)?.[1] ?? '')
}

function findingsIn(file: string, source: Source, inNames: Search, inComments: Search): Finding[] {
  const findings: Finding[] = []
  const names = new Set<string>()
  const reported = new Set<string>()
  const report = (name: string, start: number, { words, use }: OldWord): void => {
    const line = source.lineOf(start)
    if (reported.has(`${line} ${words}`)) return
    reported.add(`${line} ${words}`)
    findings.push({ file, line, message: `${name} says "${words}": the term is ${use}` })
  }
  for (const node of nodesOf(source.program)) {
    const { name } = node
    if (!/^(Private)?Identifier$/.test(node.type) || typeof name !== 'string' || names.has(name)) continue
    const found = inNames(wordsOfName(name))
    if (found === undefined) names.add(name)
    else report(name, node.start, found)
  }
  for (const { value, start } of source.comments) {
    let at = start
    for (const line of value.split('\n')) {
      const found = inComments(wordsOfText(line))
      // Of the first line, two characters more stand before it.
      if (found !== undefined) report('a comment', at + (at === start ? 0 : 2), found)
      at += line.length + 1
    }
  }
  return findings
}

/** `readAndExpect`: ` read and expect `. */
function wordsOfName(name: string): string {
  return wordsOfText(name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2'))
}

function wordsOfText(text: string): string {
  return ` ${
    text
      .toLowerCase()
      .match(/[a-z0-9]+/g)
      ?.join(' ') ?? ''
  } `
}
