/** Writes the configuration file of `ashlar init`: the selected settings, and the rest as comments. */
import { createInterface } from 'node:readline/promises'
import { configFromJson } from '@ashlar/server/config-file'
import { defaultText, type Setting, settings } from '@ashlar/server/shared'
import { conflictError, usageError } from '../errors/command-error.ts'
import { unwritable } from '../errors/file-errors.ts'
import { printResult } from '../output/print-result.ts'
import { writeAtomically } from '../output/write-whole.ts'

export interface InitOptions {
  readonly port?: string
  readonly data?: string
  readonly fd?: readonly string[]
  readonly auth?: boolean
  readonly yes?: boolean
  readonly force?: boolean
  /** Disables questions, which are not JSON. */
  readonly json?: boolean
}

interface Chosen {
  readonly port: number
  readonly data: string
  readonly federatedDatabases: readonly { readonly alias: string }[]
  readonly auth: boolean
}

/** Throws CommandError for an invalid value, or an existing file; nothing is written then. */
export async function writeInitFile(file: string, options: InitOptions): Promise<void> {
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY && options.yes !== true && options.json !== true
  const chosen = chosenBy(isInteractive ? await promptForOptions(options) : options)
  const text = fileText(chosen)
  checkText(text, file)
  try {
    writeAtomically(file, text, { isNew: options.force !== true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw conflictError(`${file} already exists; --force overwrites it.`)
    throw unwritable(file, error)
  }
  printResult({ file }, options, () => [`Wrote ${file}. Start the server by: ashlar serve --config ${file}`])
}

async function promptForOptions(options: InitOptions): Promise<InitOptions> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const prompt = async (question: string, otherwise: string): Promise<string> => {
      const answer = (await terminal.question(`${question} [${otherwise}]: `)).trim()
      return answer === '' ? otherwise : answer
    }
    const port = options.port ?? (await prompt('Port', '8185'))
    const data = options.data ?? (await prompt('Data directory', './data'))
    const fd = options.fd ?? (await prompt('Federated databases, with commas between them', 'default')).split(/\s*,\s*/)
    const auth = options.auth ?? /^y/i.test(await prompt('Do callers have to authenticate (y or n)', 'n'))
    return { port, data, fd, auth }
  } finally {
    terminal.close()
  }
}

function chosenBy({ port = '8185', data = './data', fd = ['default'], auth = false }: InitOptions): Chosen {
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw usageError(`The port is a number up to 65535, not ${port}.`)
  return { port: Number(port), data, federatedDatabases: fd.map((alias) => ({ alias })), auth }
}

function checkText(text: string, file: string): void {
  try {
    configFromJson(text, file)
  } catch (error) {
    throw usageError((error as Error).message)
  }
}

function fileText(chosen: Chosen): string {
  const others = settings.filter((setting) => setting.isNotInFile !== true && !Object.hasOwn(chosen, setting.field))
  const fields = Object.entries(chosen).map(([field, value]) => {
    return `${commentOf(settings.find((setting) => setting.field === field))}  "${field}": ${JSON.stringify(value)}`
  })
  const comments = others.map((setting) => `${commentOf(setting)}  // ${exampleOf(setting)},\n\n`)
  const head =
    '  // The configuration of an Ashlar server. Lines that begin with // are comments; options and ASHLAR_ variables come before what stands here.\n\n'
  return `{\n${head}${comments.join('')}${fields.join(',\n\n')}\n}\n`
}

/** Formats JSON in which only placeholders of values must be replaced. */
function exampleOf({ field, inFile, default: usual }: Setting): string {
  if (inFile === undefined) return `"${field}": ${valueText(usual)}`
  return inFile
    .replace(/\{([^{}]*)\}/, (_, names: string) => {
      const fields = names.split(', ').filter((name) => name !== '…')
      return `{${fields.map((name) => `"${name}": "…"`).join(', ')}}`
    })
    .replace('[…]', '["…"]')
    .replace(/^\w+/, '"$&"')
}

/** Writes a default as JSON. Options have numbers and booleans as strings. */
function valueText(usual: Setting['default']): string {
  return typeof usual === 'string' && /^(\d+|true|false)$/.test(usual) ? usual : JSON.stringify(usual ?? '…')
}

function commentOf(setting: Setting | undefined): string {
  return setting === undefined ? '' : `  // ${setting.help} (default: ${defaultText(setting)})\n`
}
