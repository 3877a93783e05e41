/** The input history of the shell: a file of the user, with one entry per line. */
import { appendFileSync, chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeFolders } from '../errors/file-errors.ts'
import { historyEntriesMax } from './terminal.ts'

/** Returns a file below `XDG_STATE_HOME`, or below `~/.local/state`. */
export function historyFile({ XDG_STATE_HOME: xdg }: NodeJS.ProcessEnv): string {
  return join(xdg === undefined || xdg === '' ? join(homedir(), '.local', 'state') : xdg, 'ashlar', 'history')
}

export class History {
  /** The newest entry first. */
  entries: string[]
  private readonly file: string
  problem: string | undefined

  constructor(file: string) {
    this.file = file
    this.entries = this.read()
  }

  /** Adds a one-line entry, unless it begins with a blank or may contain a secret. */
  add(entry: string): void {
    if (/^\s|^$|[\r\n]/.test(entry) || isSecret(entry)) return
    this.entries = [entry, ...this.entries.filter((other) => other !== entry)].slice(0, historyEntriesMax)
    this.attempt(() => appendFileSync(this.file, `${entry}\n`, { mode: 0o600 }))
  }

  private read(): string[] {
    let lines: string[] = []
    this.attempt(() => {
      makeFolders(dirname(this.file), 0o700)
      appendFileSync(this.file, '', { mode: 0o600 })
      lines = readFileSync(this.file, 'utf8').split('\n')
      chmodSync(this.file, 0o600)
    })
    const entries = [...new Set(lines.filter((line) => line !== '').reverse())].slice(0, historyEntriesMax)
    // Entries are appended, also repeated ones; the file is compacted when it becomes large.
    if (lines.length > 2 * historyEntriesMax) this.attempt(() => this.replace(entries))
    return entries
  }

  private replace(entries: readonly string[]): void {
    const temporary = `${this.file}.${process.pid}`
    writeFileSync(temporary, `${entries.toReversed().join('\n')}\n`, { mode: 0o600 })
    renameSync(temporary, this.file)
  }

  private attempt(work: () => void): void {
    if (this.problem !== undefined) return
    try {
      work()
    } catch (error) {
      this.problem = `The history is not kept: ${(error as Error).message}`
    }
  }
}

/** Detects `\set` of a parameter with a name like `password`. */
function isSecret(entry: string): boolean {
  return /^\\set\s+\S*(?:pass|secret|token|key|credential)/i.test(entry)
}

/** Returns the entry on one line for the history; undefined if that would change it, as with comments and multi-line strings. */
export function asOneLine(text: string): string | undefined {
  const lines = text.split('\n')
  const isPlain = lines.length === 1 || !/\/\/|['"`]/.test(text) || lines.every(hasCompleteTexts)
  return isPlain
    ? lines
        .map((line) => line.trim())
        .join(' ')
        .trim()
    : undefined
}

function hasCompleteTexts(line: string): boolean {
  const withoutTexts = line.replaceAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`/g, '')
  return !/\/\/|['"`]/.test(withoutTexts)
}
