/** `ashlar dev`: changes the schema of a server whenever its files change, and writes the types of the result. */
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandContext } from '../connection/command-context.ts'
import { connect } from '../connection/connection.ts'
import { unwritable } from '../errors/file-errors.ts'
import { failureText } from '../output/failure.ts'
import { Output } from '../output/output.ts'
import { writeAtomically } from '../output/write-whole.ts'
import { applySchema } from '../schema/schema.ts'
import { readSchemaSource } from '../schema/schema-files.ts'
import { schemaState } from '../schema/schema-state.ts'
import { declarationsOf } from '../types/declarations.ts'

export interface FollowOptions {
  /** A file, or a folder of `.do` files. */
  readonly files: string
  /** The file of the declarations. */
  readonly types: string
  /** Apply changes that lose values without asking. */
  readonly allowLoss: boolean
  readonly isJson: boolean
}

/** Files are polled, since not every file system reports changes, for example those of containers. */
const pollMs = 200

/** Reports errors in the files to standard error, and waits for their next change. Returns when `signal` is aborted. */
export async function followSchema(
  url: string,
  fd: string,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const connection = connect({ url, fd }, {}, signal)
  const output = new Output({ json: options.isJson })
  const context: CommandContext = {
    connection,
    client: connection.client,
    output,
    signal,
    explainWith: () => undefined,
  }
  for (let applied: string | undefined, before = textOf(options.files); !signal.aborted; ) {
    const text = textOf(options.files)
    // A text that still changes may be one of which the editor has written only a part.
    if (text === before && text !== applied) {
      applied = text
      await bringUpToDate(context, options)
    }
    before = text
    await delay(pollMs, undefined, { signal }).catch(() => undefined)
  }
}

/** If the files cannot be read, the reason, which `applySchema` then reports. */
function textOf(files: string): string {
  try {
    return readSchemaSource(files).text
  } catch (error) {
    return String(error)
  }
}

async function bringUpToDate(
  context: CommandContext,
  { files, types, allowLoss, isJson }: FollowOptions,
): Promise<void> {
  const { client, output, signal } = context
  try {
    const confirmLoss = isTerminal() && !isJson ? (lines: readonly string[]) => confirmed(lines, signal) : undefined
    await applySchema(context, [files], { allowLoss, confirmLoss })
    const declarations = declarationsOf(schemaState(await client.listClasses(), [], []).classes)
    if (existsSync(types) && readFileSync(types, 'utf8') === declarations) return
    writeTypesFile(types, declarations)
    await output.result({ types }, () => [`Wrote ${types}.`])
  } catch (error) {
    if (!signal.aborted) process.stderr.write(failureText(error, { isJson }))
  }
}

function writeTypesFile(file: string, text: string): void {
  try {
    writeAtomically(file, text)
  } catch (error) {
    throw unwritable(file, error)
  }
}

function isTerminal(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY
}

/** `lines`: the plan, with losses marked. */
async function confirmed(lines: readonly string[], signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // Without a listener, readline would close and never answer.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    const answer = await terminal.question(`${lines.join('\n')}\nWhat is marked ! is lost. Apply? [y/N] `, { signal })
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
