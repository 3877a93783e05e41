/** The commands as they are declared, each with a line that could be right. */
import type { Command } from 'commander'
import { programOf } from '../../src/program/program.ts'

export interface Leaf {
  readonly words: readonly string[]
  readonly command: Command
}

function leavesOf(command: Command, words: readonly string[] = []): Leaf[] {
  const inner = command.commands.filter((one) => one.name() !== 'help')
  if (inner.length === 0) return [{ words, command }]
  return inner.flatMap((one) => leavesOf(one, [...words, one.name()]))
}

/** Those that have none below them. */
export const leaves = leavesOf(programOf())
/** Those that talk to a server. */
export const clients = leaves.filter(({ command }) => command.options.some(({ long }) => long === '--url'))

/** Operands that could be right, by their names. */
const operands: Readonly<Record<string, readonly string[]>> = {
  attributes: ['a=b'],
  attribute: ['a'],
  class: ['C'],
  file: ['data.ndjson'],
  files: ['schema.do'],
  folder: ['project'],
  id: ['0123456789abcdef'],
  index: ['i'],
  name: ['x'],
  number: ['1'],
  oid: ['3-3-1-1'],
  oids: ['3-3-1-1'],
  path: ['made'],
  shell: ['bash'],
  store: ['lmdb:none'],
  text: ['SHOW 1'],
  tool: ['Verify'],
}

/** What a command needs beside its operands. */
const needed: Readonly<Record<string, readonly string[]>> = {
  import: ['--class', 'C'],
  query: ['SHOW 1'],
  'token create': ['--name', 'x', '--role', 'reader'],
}

/** With all that is required. */
export function lineOf({ words, command }: Leaf): string[] {
  const required = command.registeredArguments.filter((one) => one.required)
  const given = required.flatMap((one) => operands[one.name()] ?? [`no operand for ${one.name()}`])
  return [...words, ...given, ...(needed[words.join(' ')] ?? [])]
}
