/** `ashlar dev`: a server for development, whose schema follows a file. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readPort } from '@ashlar/server/shared'
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { usageError } from '../errors/command-error.ts'
import { serveThen } from './serve.ts'

interface DevOptions {
  readonly data: string
  readonly port: string
  readonly types: string
  readonly allowLoss?: boolean
  readonly json?: boolean
}

const alias = 'default'

export function addDevCommand(program: Command): void {
  const command = program
    .command('dev [files]')
    .summary('Serve a database for development, whose schema follows a file.')
    .description(
      'Serve a database for development, and keep its schema and the TypeScript declarations up to date with schema files (default: schema.do), a file or a folder of .do files: each time they are saved, apply what loses no data, and ask before anything else. Requires no authentication, and listens on this machine only.',
    )
    .option('--data <dir>', 'data directory', join('.', 'data'))
    .option('--port <number>', 'port to listen on; 0 = any free one', '8185')
    .option('--types <file>', 'file of the declarations', 'schema.d.ts')
    .option('--allow-loss', 'apply changes that lose attributes, classes or values without asking')
  addJsonOption(command).action(
    async (files: string | undefined, { data, port, types, allowLoss = false, json = false }: DevOptions) => {
      const place = files ?? 'schema.do'
      if (!existsSync(place))
        throw usageError(`There is no ${place}: write the classes in DO, as ashlar schema pull does.`)
      const source = { data, port: portOf(port), federatedDatabases: [{ alias }], logLevel: 'warn' }
      await serveThen(source, json, async (url, signal) => {
        const { followSchema } = await import('../declaration/client-commands.ts')
        await followSchema(url, alias, { files: place, types, allowLoss, isJson: json }, signal)
      })
    },
  )
}

/** Throws CommandError. */
export function portOf(text: string): number {
  try {
    return readPort(text, '--port')
  } catch (error) {
    throw usageError((error as Error).message)
  }
}
