/** `ashlar demo`: a server with sample data, included in the program. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { portOf } from './dev.ts'
import { serveThen } from './serve.ts'

const alias = 'demo'

interface DemoOptions {
  readonly data: string
  readonly port: string
  readonly json?: boolean
}

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .summary('Serve a demo database with sample data.')
    .description(
      'Serve a federated database `demo` with airports, flights and routes of the US (US Bureau of Transportation Statistics and Data.gov, public domain). The data is loaded at the first start; an interrupted load is resumed at the next.',
    )
    .option('--data <dir>', 'data directory', join('.', 'data', 'demo'))
    .option('--port <number>', 'port to listen on; 0 = any free one', '8185')
  addJsonOption(command).action(({ data, port, json = false }: DemoOptions) => {
    const source = {
      data,
      port: portOf(port),
      federatedDatabases: [{ alias }],
      logLevel: 'warn',
    }
    return serveThen(source, json, async (url, signal) => {
      const { loadDemo } = await import('../declaration/client-commands.ts')
      await loadDemo(url, alias, json, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error
        process.stderr.write('Loading was interrupted; the next start resumes it.\n')
      })
    })
  })
}
