/** A server is a process that watches and others that serve: what ends all of them at once, as a machine does that fails. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The numbers of the processes that `pid` has started. */
export function childrenOf(pid: number): number[] {
  if (process.platform === 'linux') return numbersIn(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
  const all = execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' }).split('\n').map(numbersIn)
  return all.flatMap(([parent, child]) => (parent === pid && child !== undefined ? [child] : []))
}

/** Those that serve first: the one that watches would start others. */
export function killAll(pid: number): void {
  for (const each of [...childrenOf(pid), pid]) process.kill(each, 'SIGKILL')
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function numbersIn(text: string): number[] {
  return text.split(/\s+/).filter(Boolean).map(Number)
}
