/** `ashlar tool`: the administrative tools of a server. */
import type { ToolRecord } from '@ashlar/client'
import { suggestSetting } from '@ashlar/server/shared'
import type { CommandContext } from '../connection/command-context.ts'
import { CommandError, notFoundError, usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'

export async function listTools({ client, output }: CommandContext): Promise<void> {
  const tools = await client.listTools()
  const rows = tools.map(({ name, flags, description }) => [name, flags.map(flagText).join(' '), description])
  await output.data(tools, () => output.table(['Tool', 'Flags', 'Does'], rows))
}

function flagText({ name, type, isRequired }: ToolRecord['flags'][number]): string {
  const text = `${name}=<${type}>`
  return isRequired ? text : `[${text}]`
}

/** Ends with exit code 1 if the exit code of the tool is not 0. */
export async function runTool(
  { client, output }: CommandContext,
  [name, words]: readonly [string, readonly string[]],
): Promise<void> {
  const tools = await client.listTools()
  const tool = tools.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase())
  if (tool === undefined) {
    const near = suggestSetting(
      name,
      tools.map((candidate) => candidate.name),
    )
    throw notFoundError(`There is no tool ${name}.${near}`)
  }
  const reply = await client.runTool(tool.name, Object.fromEntries(words.map((word) => flagOf(tool, word))))
  await output.data(reply, () =>
    [reply.toolOutput, reply.toolError].filter((text) => text !== '').map((text) => text.trimEnd()),
  )
  if (reply.returnCode !== 0)
    throw new CommandError(exitCodes.failed, `The tool ${tool.name} ended with code ${reply.returnCode}.`)
}

/** A flag without a value is true. */
function flagOf(tool: ToolRecord, word: string): [string, string | number | boolean] {
  const [, name = '', , value] = /^([^=]+)(=(.*))?$/s.exec(word) ?? []
  const flag = tool.flags.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase())
  if (flag === undefined) {
    const near = suggestSetting(
      name,
      tool.flags.map((candidate) => candidate.name),
    )
    throw usageError(`The tool ${tool.name} has no flag ${name}.${near}`)
  }
  if (flag.type === 'boolean') {
    if (value === undefined || value === 'true') return [flag.name, true]
    if (value === 'false') return [flag.name, false]
    throw usageError(`${flag.name} is true or false, not ${value}.`)
  }
  if (value === undefined) throw usageError(`${flag.name} needs a value: ${flag.name}=<${flag.type}>.`)
  if (flag.type === 'text') return [flag.name, value]
  if (value.trim() !== '' && Number.isFinite(Number(value))) return [flag.name, Number(value)]
  throw usageError(`${flag.name} is a number, not ${value}.`)
}
