/** The options of `ashlar serve`, which follow from the settings of the server. */
import { ConfigError } from '@ashlar/server/shared'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addOptions, configFromOptions } from '../../src/serve/config-options.ts'

const mistake = (words: RegExp) =>
  expect.objectContaining({ constructor: ConfigError, message: expect.stringMatching(words) })

describe('configFromOptions', () => {
  const read = (...words: string[]) => {
    const command = addOptions(new Command())
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
    return configFromOptions(command.parse(words, { from: 'user' }).opts())
  }

  it('reads every option, and says nothing of those that are not there', () => {
    expect(read()).toEqual({})
    const words =
      '--host ::1 --port 0 --data /d --workers 2 --default b --fd a --fd b=memory: --dialect a=objectivity --config c.json ' +
      '--allow-shutdown --auth --security-store lmdb:/s --insecure --host-name DB.example.com --cors app://notes --log-level warn --import-dir /imports'
    expect(read(...words.split(' '))).toEqual({
      host: '::1',
      port: 0,
      data: '/d',
      workers: 2,
      default: 'b',
      federatedDatabases: [{ alias: 'a' }, { alias: 'b', store: 'memory:' }],
      dialects: { a: 'objectivity' },
      config: 'c.json',
      allowShutdown: true,
      auth: true,
      securityStore: 'lmdb:/s',
      insecure: true,
      hosts: ['db.example.com'],
      cors: ['app://notes'],
      logLevel: 'warn',
      importDir: '/imports',
    })
  })

  it.each([
    [['--port', 'x'], /--port is a port/],
    [['--host', ''], /--host must be a non-empty string/],
    [['--allow-remote'], /--allow-remote is now called --insecure/],
    [['--cors', '*'], /--cors: '\*' is not an origin/],
  ])('refuses %j', (words, reason) => {
    expect(() => read(...words)).toThrow(mistake(reason))
  })
})
