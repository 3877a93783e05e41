/** The backslash commands of the shell: names, help and completion follow from this table. */

import { createReadStream } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { suggestSetting } from '@ashlar/server/shared'
import type { RowFormat } from '../data/rows.ts'
import { notFoundError, usageError } from '../errors/command-error.ts'
import { refuseUnreadable } from '../errors/file-errors.ts'
import { parseExactly, stringifyExactly } from '../output/exact-json.ts'
import { printable, tableLines } from '../output/table.ts'
import { quotedPath } from '../output/texts.ts'
import { classLines, describedClass } from './describe.ts'
import { helpTopics } from './help-topics.ts'
import { linesOf, runLines } from './run-lines.ts'
import { orAborted, type Session } from './session.ts'

export interface ShellCommand {
  /** The help shows the first name. */
  readonly names: readonly string[]
  readonly operand: string
  readonly help: string
  readonly completes?: 'classes' | 'files' | 'fds' | 'topics' | 'parameters' | 'switch'
  /** `operand`: the text after the name, trimmed. Throws CommandError, and the errors of the client. */
  run(session: Session, operand: string, signal: AbortSignal): Promise<void> | void
}

export const shellCommands: readonly ShellCommand[] = [
  { names: ['?'], operand: '', help: 'list the commands', run: (session) => session.tell(commandLines()) },
  {
    names: ['help', 'h'],
    operand: '[clause]',
    help: 'show the syntax of a statement',
    completes: 'topics',
    run: showHelp,
  },
  { names: ['q', 'quit', 'exit'], operand: '', help: 'end the shell (or Ctrl-D)', run: leave },
  {
    names: ['d', 'dt'],
    operand: '[class]',
    help: 'list the classes, or describe one',
    completes: 'classes',
    run: describe,
  },
  {
    names: ['d+'],
    operand: '',
    help: 'list the classes with their object counts',
    run: countClasses,
  },
  { names: ['di'], operand: '', help: 'list the indexes', run: listIndexes },
  { names: ['g'], operand: '', help: 'run the input without a semicolon, or repeat the last statement', run: go },
  { names: ['r'], operand: '', help: 'clear the input buffer', run: (session) => session.reader.clear() },
  { names: ['p'], operand: '', help: 'print the input buffer, or the last statement', run: print },
  {
    names: ['explain'],
    operand: '[statement]',
    help: 'run a statement, roll it back, and show its plan with measurements',
    run: analyze,
  },
  { names: ['plan'], operand: '[statement]', help: 'show the plan of a statement without running it', run: plan },
  {
    names: ['watch'],
    operand: '[seconds]',
    help: 'repeat the statement, every 2 seconds by default, until Ctrl-C',
    run: watch,
  },
  { names: ['begin'], operand: '', help: 'begin to collect statements for one transaction', run: begin },
  { names: ['commit'], operand: '', help: 'run the collected statements as one transaction', run: commit },
  { names: ['rollback'], operand: '', help: 'discard the collected statements', run: rollBack },
  {
    names: ['set'],
    operand: '[name [value]]',
    help: 'set the parameter $name to a JSON value or a string',
    completes: 'parameters',
    run: set,
  },
  { names: ['unset'], operand: 'name', help: 'remove a parameter', completes: 'parameters', run: unset },
  {
    names: ['x'],
    operand: '[on|off]',
    help: 'show one value per line, for wide rows',
    completes: 'switch',
    run: expand,
  },
  ...(['table', 'json', 'ndjson', 'csv'] as const).map(formatCommand),
  { names: ['timing'], operand: '[on|off]', help: 'show how long statements take', completes: 'switch', run: time },
  {
    names: ['pager'],
    operand: '[on|off]',
    help: 'stop at the end of each page of a terminal',
    completes: 'switch',
    run: page,
  },
  { names: ['i'], operand: 'file', help: 'run the lines of a file', completes: 'files', run: include },
  {
    names: ['o'],
    operand: '[file]',
    help: 'write results to a file; without one, no longer',
    completes: 'files',
    run: (session, file) => session.writeTo(file === '' ? undefined : file),
  },
  {
    names: ['fd'],
    operand: '[alias]',
    help: 'use another federated database, or list them',
    completes: 'fds',
    run: useFd,
  },
  { names: ['user'], operand: '', help: 'show the current user', run: showUser },
]

const byName = new Map(shellCommands.flatMap((command) => command.names.map((name) => [name, command] as const)))

/** Runs a line of the form `\name operand`. */
export async function runShellCommand(session: Session, line: string, signal: AbortSignal): Promise<void> {
  const [, name = '', operand = ''] = /^\s*\\(\S*)\s*([\s\S]*?)\s*$/.exec(line) ?? []
  const command = byName.get(name)
  if (command === undefined) {
    const near = suggestSetting(
      name,
      [...byName.keys()].filter((candidate) => candidate.length > 2),
    )
    throw usageError(`There is no command \\${name}.${near} See \\?.`)
  }
  if (command.operand === '' && operand !== '') throw usageError(`\\${name} has no operand: ${operand} is too much.`)
  await command.run(session, operand, signal)
}

export function commandNamed(name: string): ShellCommand | undefined {
  return byName.get(name)
}

/** Returns the lines for `\?` and docs/shell.md. */
export function commandLines(): string[] {
  const usages = shellCommands.map(({ names, operand }) => `\\${names[0]} ${operand}`.trim())
  const width = Math.max(...usages.map((usage) => usage.length))
  return shellCommands.map(({ help }, at) => `${usages[at]?.padEnd(width)}  ${help}`)
}

function formatCommand(format: RowFormat): ShellCommand {
  const help = format === 'table' ? 'rows as a table' : `rows as ${format.toUpperCase()}`
  const run = (session: Session): void => {
    session.format = format
  }
  return { names: [format], operand: '', help, run }
}

function leave(session: Session): void {
  session.isLeft = true
}

async function showHelp(session: Session, operand: string): Promise<void> {
  const names = Object.keys(helpTopics)
  if (operand === '') return session.tell([`Syntax of: ${names.join(', ')}.`, 'Commands: \\?'])
  const topic =
    names.find((name) => name === operand.toUpperCase()) ?? names.find((name) => name.startsWith(operand.toUpperCase()))
  if (topic === undefined) throw usageError(`There is no help on ${operand}, but on ${names.join(', ')}.`)
  await session.tell(helpTopics[topic] ?? [])
}

async function describe(session: Session, name: string, signal: AbortSignal): Promise<void> {
  session.forgetSchema()
  const schema = await session.schema(signal)
  const options = session.target.tableOptions
  if (name === '') return session.tell(classLines(schema, options, undefined))
  const cls = schema.classNamed(name)
  if (cls === undefined) {
    const near = suggestSetting(name, schema.classNames)
    throw notFoundError(`There is no class ${name}.${near}`)
  }
  await session.tell(describedClass(cls, schema, options))
}

async function countClasses(session: Session, _: string, signal: AbortSignal): Promise<void> {
  session.forgetSchema()
  const schema = await session.schema(signal)
  const counts = new Map<string, number>()
  for (const { className, isReferenceable } of schema.classes) {
    if (!isReferenceable) continue
    const text = `FROM ONLY ${quotedPath(className)} RETURN COUNT() AS objects`
    for await (const row of session.client.queryStream<{ readonly objects: number }>(text, {}, { signal })) {
      counts.set(className, row.objects)
    }
  }
  await session.tell(classLines(schema, session.target.tableOptions, counts))
}

async function listIndexes(session: Session, _: string, signal: AbortSignal): Promise<void> {
  session.forgetSchema()
  const { indexes } = await session.schema(signal)
  if (indexes.length === 0) return session.tell(['There are no indexes.'])
  const rows = indexes.map(({ name, indexedClass, keyAttributes, isUnique, state }) => {
    const keys = keyAttributes.map(({ attributeName }) => attributeName).join(', ')
    return [name, indexedClass, keys, isUnique ? 'yes' : '', state]
  })
  await session.tell(tableLines(['Index', 'Class', 'Attributes', 'Unique', 'State'], rows, session.target.tableOptions))
}

/** Returns the input buffer, or the last statement. Throws CommandError if both are empty. */
function currentText(session: Session, operand = ''): string {
  const text = operand === '' ? (session.reader.take() ?? session.lastText) : operand
  if (text === undefined) throw usageError('There is no statement yet.')
  return text
}

function go(session: Session, _: string, signal: AbortSignal): Promise<void> {
  return session.runText(currentText(session), signal)
}

function print(session: Session): Promise<void> {
  const typed = session.reader.text
  return session.tell(printable(typed === '' ? currentText(session) : typed, 'lines').split('\n'))
}

function analyze(session: Session, operand: string, signal: AbortSignal): Promise<void> {
  return session.explain(currentText(session, operand), true, signal)
}

function plan(session: Session, operand: string, signal: AbortSignal): Promise<void> {
  return session.explain(currentText(session, operand), false, signal)
}

async function watch(session: Session, operand: string, signal: AbortSignal): Promise<void> {
  const seconds = operand === '' ? 2 : Number(operand)
  if (!(seconds >= 0.1 && seconds <= 86_400))
    throw usageError(`${operand} is not a number of seconds from 0.1 to 86400.`)
  if (session.transaction !== undefined) throw usageError('Inside \\begin, statements are only sent by \\commit.')
  const text = currentText(session)
  for (;;) {
    session.screen.note(`${new Date().toISOString()} (each ${seconds} s)`)
    await session.send(text, signal)
    await orAborted(sleep(seconds * 1_000, undefined, { signal }), signal)
  }
}

function begin(session: Session): void {
  if (session.transaction !== undefined) throw usageError('\\begin was given already: \\commit, or \\rollback.')
  session.transaction = []
  session.screen.note('Statements are collected until \\commit sends them or \\rollback discards them.')
}

async function commit(session: Session, _: string, signal: AbortSignal): Promise<void> {
  if (session.transaction === undefined) throw usageError('There is nothing to commit: start with \\begin.')
  const rest = session.reader.take()
  const text = [...session.transaction, ...(rest === undefined ? [] : [rest])].join('\n')
  session.transaction = undefined
  if (text === '') session.screen.note('The transaction was empty.')
  else await session.send(text, signal)
}

function rollBack(session: Session): void {
  if (session.transaction === undefined) throw usageError('There is nothing to roll back: start with \\begin.')
  session.transaction = undefined
  session.reader.clear()
}

async function set(session: Session, operand: string): Promise<void> {
  const [, name = '', value = ''] = /^\$?(\S*)\s*([\s\S]*)$/.exec(operand) ?? []
  if (name === '') {
    const lines = [...session.parameters].map(([parameter, current]) =>
      printable(`${parameter} = ${stringifyExactly(current)}`),
    )
    return session.tell(lines.length === 0 ? ['No parameters are set.'] : lines)
  }
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw usageError(`${name} is not a parameter name, which has letters, digits and _.`)
  if (value !== '') session.parameters.set(name, readValue(value))
  else if (session.parameters.has(name)) await session.tell([printable(stringifyExactly(session.parameters.get(name)))])
  else throw usageError(`$${name} is not set.`)
}

/** Parses JSON; returns any other text unchanged. */
function readValue(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}

function unset(session: Session, operand: string): void {
  if (!session.parameters.delete(operand.replace(/^\$/, '')))
    throw usageError(`$${operand.replace(/^\$/, '')} is not set.`)
}

/** Parses on or off; without an operand, toggles. */
function switched(operand: string, isOn: boolean, name: string): boolean {
  if (operand === '') return !isOn
  if (operand !== 'on' && operand !== 'off') throw usageError(`\\${name} is on or off, not ${operand}.`)
  return operand === 'on'
}

function expand(session: Session, operand: string): void {
  session.isExpanded = switched(operand, session.isExpanded, 'x')
  session.format = 'table'
  session.screen.note(session.isExpanded ? 'One value per line.' : 'One row per line.')
}

function time(session: Session, operand: string): void {
  session.isTimed = switched(operand, session.isTimed, 'timing')
  session.screen.note(`Timing is ${session.isTimed ? 'on' : 'off'}.`)
}

function page(session: Session, operand: string): void {
  const { paging, note } = session.screen
  if (paging === undefined) throw usageError('Paging needs a terminal.')
  paging.isOn = switched(operand, paging.isOn, 'pager')
  note(`Paging is ${paging.isOn ? 'on' : 'off'}.`)
}

const includesMax = 16

async function include(session: Session, file: string, signal: AbortSignal): Promise<void> {
  if (file === '') throw usageError('\\i needs a file.')
  if (session.includes.length >= includesMax) throw usageError(`\\i is nested more than ${includesMax} deep.`)
  refuseUnreadable(file)
  session.includes.push(file)
  try {
    await runLines(session, linesOf(createReadStream(file), file), file, runShellCommand, signal)
  } finally {
    session.includes.pop()
  }
}

async function useFd(session: Session, alias: string, signal: AbortSignal): Promise<void> {
  if (alias !== '') {
    if (session.transaction !== undefined) throw usageError('\\commit or \\rollback first: a transaction is open.')
    return session.useFd(alias, signal)
  }
  const { federatedDatabases } = await orAborted(session.client.getReadiness(), signal)
  await session.tell(federatedDatabases.map((alias) => printable(alias === session.fd ? `${alias} (used now)` : alias)))
}

async function showUser(session: Session, _: string, signal: AbortSignal): Promise<void> {
  const [user] = await orAborted(session.client.query<unknown>('SHOW $$USER'), signal)
  await session.tell([user === null ? 'The server has no authentication.' : printable(stringifyExactly(user))])
}
