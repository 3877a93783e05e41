/** The configuration: its sources, their order, and the mistakes it tells (REST interface, section 8). */
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config.ts'
import { configFromEnvironment } from '../../src/config/config-environment.ts'
import { configFromJson } from '../../src/config/config-file.ts'
import { addOptions, configFromOptions } from '../../src/config/config-options.ts'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { byAlias, readDialect, readFdOption } from '../../src/config/read-value.ts'

const mistake = (words: RegExp) =>
  expect.objectContaining({ constructor: ConfigError, message: expect.stringMatching(words) })

describe('mergeConfig', () => {
  it('has defaults for everything: loopback, port 8185, one federated database under ./data', () => {
    expect(mergeConfig([])).toEqual({
      auditOnFailure: 'refuse',
      tlsClientCerts: 'request',
      certificates: { name: 'CN', users: {}, roles: {} },
      host: '127.0.0.1',
      port: 8185,
      data: './data',
      workers: 1,
      default: undefined,
      federatedDatabases: [{ alias: 'default', store: `lmdb:${join('data', 'default')}` }],
      limits: {},
      allowShutdown: false,
      auth: false,
      securityStore: `lmdb:${join('data', '.security')}`,
      insecure: false,
      hosts: undefined,
      cors: [],
      trustedProxies: [],
      logLevel: 'info',
      temporaryDir: resolve('data', '.temporary'),
    })
  })

  it('takes options before environment before file', () => {
    const file = configFromJson('{"host":"127.0.0.3","port":3,"data":"/file"}', 'ashlar.json')
    const { source: environment } = configFromEnvironment({ ASHLAR_PORT: '2', ASHLAR_DATA: '/environment' })
    expect(mergeConfig([{ data: '/option' }, environment, file])).toMatchObject({
      host: '127.0.0.3',
      port: 2,
      data: '/option',
      federatedDatabases: [{ alias: 'default', store: 'lmdb:/option/default' }],
    })
  })

  it('keeps a federated database without a store below the data directory', () => {
    const federatedDatabases = ['fleet', 'big=memory:', 'old=lmdb:/old/place'].map(readFdOption)
    expect(mergeConfig([{ data: '/d', federatedDatabases }]).federatedDatabases).toEqual([
      { alias: 'fleet', store: 'lmdb:/d/fleet' },
      { alias: 'big', store: 'memory:' },
      { alias: 'old', store: 'lmdb:/old/place' },
    ])
  })

  it('has dialects of federated databases, by alias, before what the file says', () => {
    const file = configFromJson(
      '{"federatedDatabases":[{"alias":"a","dialect":"objectivity"},{"alias":"b","dialect":"Objectivity"},{"alias":"c"}]}',
      'ashlar.json',
    )
    const { source: environment } = configFromEnvironment({ ASHLAR_DIALECT: 'b=ashlar, c=ashlar' })
    const option = { dialects: byAlias(readDialect)(['c=OBJECTIVITY'], '--dialect') }
    const dialects = mergeConfig([option, environment, file]).federatedDatabases.map(({ dialect }) => dialect)
    expect(dialects).toEqual(['objectivity', 'ashlar', 'objectivity'])
    expect(() => byAlias(readDialect)(['a=sql'], '--dialect')).toThrow(
      mistake(/--dialect is ashlar or objectivity, not "sql"/),
    )
    expect(() => byAlias(readDialect)(['objectivity'], '--dialect')).toThrow(
      mistake(/--dialect is ALIAS=VALUE, not 'objectivity'/),
    )
    const unknown = { dialects: byAlias(readDialect)(['d=ashlar'], '--dialect') }
    expect(() => mergeConfig([unknown, file])).toThrow(mistake(/federated database d, which is not configured/))
    const wrong = '{"federatedDatabases":[{"alias":"a","dialect":5}]}'
    expect(() => configFromJson(wrong, 'ashlar.json')).toThrow(mistake(/dialect of a in .* is ashlar or objectivity/))
  })

  it('refuses to listen beyond this machine unless that is said', () => {
    expect(() => mergeConfig([{ host: '0.0.0.0' }])).toThrow(mistake(/--insecure/))
    expect(() => mergeConfig([{ host: '127.0.0.1.example.org' }])).toThrow(mistake(/--insecure/))
    expect(mergeConfig([{ host: '0.0.0.0', insecure: true }]).host).toBe('0.0.0.0')
    for (const host of ['localhost', '::1', '127.0.0.2']) expect(mergeConfig([{ host }]).host).toBe(host)
  })

  it.each([
    [{ port: 65_536 }, /65536/],
    [{ federatedDatabases: [] }, /At least one/],
    [{ federatedDatabases: [{ alias: '-x' }] }, /'-x' is not an alias/],
    [{ federatedDatabases: [{ alias: 'x'.repeat(65) }] }, /is not an alias/],
    [{ federatedDatabases: [{ alias: 'a/../b' }] }, /is not an alias/],
    [{ federatedDatabases: [{ alias: 'a' }, { alias: 'a' }] }, /twice/],
    [
      {
        federatedDatabases: [
          { alias: 'a', store: 'lmdb:d/../x' },
          { alias: 'b', store: 'lmdb:x' },
        ],
      },
      /one store/,
    ],
    [{ default: 'b', federatedDatabases: [{ alias: 'a' }] }, /b is not among a/],
    [{ logLevel: 'loud' }, /'loud' is not a log level/],
    [{ trustedProxies: ['10.0.0.1'] }, /--proxy-header is missing/],
    [{ proxyHeader: 'forwarded' as const }, /--trusted-proxy is missing/],
  ])('refuses %j', (source, words) => {
    expect(() => mergeConfig([source])).toThrow(mistake(words))
  })
})

describe('the import directory', () => {
  const here = fileURLToPath(new URL('.', import.meta.url))

  it('is made absolute', () => {
    expect(mergeConfig([{ importDir: here }]).importDir).toBe(resolve(here))
    expect(mergeConfig([{ importDir: '.' }]).importDir).toBe(resolve('.'))
    expect(mergeConfig([]).importDir).toBeUndefined()
  })

  it('must exist and be a directory', () => {
    const file = fileURLToPath(import.meta.url)
    for (const importDir of [join(here, 'nowhere'), file, join(file, 'within')]) {
      expect(() => mergeConfig([{ importDir }])).toThrow(mistake(/is not an existing directory/))
    }
  })
})

describe('the directory of temporary files', () => {
  it('is made absolute, and is in the data directory where nothing else is said', () => {
    expect(mergeConfig([{ temporaryDir: 'spilled' }]).temporaryDir).toBe(resolve('spilled'))
    expect(mergeConfig([{ data: '/d' }]).temporaryDir).toBe('/d/.temporary')
    expect(configFromJson('{"temporaryDir": null}', 'ashlar.json')).toEqual({})
  })
})

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

describe('the file', () => {
  it.each(['config', 'dialects'])('has no %s in the file', (name) => {
    expect(() => configFromJson(JSON.stringify({ [name]: 'x' }), 'ashlar.json')).toThrow(mistake(/there is no setting/))
  })
})

describe('configFromEnvironment', () => {
  it('reads every setting', () => {
    const environment = {
      PATH: '/bin',
      ASHLAR_HOST: '::1',
      ASHLAR_PORT: '0',
      ASHLAR_DATA: '/d',
      ASHLAR_WORKERS: '2',
      ASHLAR_DEFAULT: 'b',
      ASHLAR_FD: 'a, b=memory:',
      ASHLAR_ALLOW_SHUTDOWN: 'true',
      ASHLAR_AUTH: 'true',
      ASHLAR_SECURITY_STORE: 'lmdb:/s',
      ASHLAR_INSECURE: '0',
      ASHLAR_ADMIN_PASSWORD: 'read where it is needed',
      ASHLAR_ADMIN_PASSWORD_FILE: '/read/where/it/is/needed',
      ASHLAR_HOST_NAME: 'DB.example.com, *',
      ASHLAR_CORS: 'https://app.example.com,http://localhost:3000',
      ASHLAR_TRUSTED_PROXY: 'loopback, 10.0.0.0/8',
      ASHLAR_PROXY_HEADER: 'forwarded',
      ASHLAR_LOG_LEVEL: 'warn',
      ASHLAR_IMPORT_DIR: '/imports',
      ASHLAR_CONFIG: '/read/elsewhere',
    }
    const { source, notes } = configFromEnvironment(environment)
    expect(notes).toEqual([])
    expect(source).toEqual({
      host: '::1',
      port: 0,
      data: '/d',
      workers: 2,
      default: 'b',
      federatedDatabases: [{ alias: 'a' }, { alias: 'b', store: 'memory:' }],
      allowShutdown: true,
      auth: true,
      securityStore: 'lmdb:/s',
      insecure: false,
      hosts: ['db.example.com', '*'],
      cors: ['https://app.example.com', 'http://localhost:3000'],
      trustedProxies: ['loopback', '10.0.0.0/8'],
      proxyHeader: 'forwarded',
      logLevel: 'warn',
      importDir: '/imports',
      config: '/read/elsewhere',
    })
  })

  it.each([
    ['ASHLAR_PROT', 'There is no setting ASHLAR_PROT. Did you mean ASHLAR_PORT?'],
    [
      'ASHLAR_ALLOW_REMOTE',
      'ASHLAR_ALLOW_REMOTE is now called ASHLAR_INSECURE, or ASHLAR_AUTH for callers to authenticate.',
    ],
  ])('ignores a variable it does not know with a warning: %s', (name, words) => {
    const { source, notes } = configFromEnvironment({ [name]: 'true', ASHLAR_HOST: '::1' })
    expect(source).toEqual({ host: '::1' })
    expect(notes).toEqual([`ashlar: WARNING: ${words} The variable is ignored.`])
  })

  it('ignores what Kubernetes sets for services called ashlar and ashlar-data, with one warning', () => {
    const links = {
      ASHLAR_DATA_PORT: 'tcp://10.0.0.2:80',
      ASHLAR_PORT: 'tcp://10.0.0.1:8185',
      ASHLAR_PORT_8185_TCP: 'tcp://10.0.0.1:8185',
      ASHLAR_PORT_8185_TCP_ADDR: '10.0.0.1',
      ASHLAR_PORT_8185_TCP_PORT: '8185',
      ASHLAR_PORT_8185_TCP_PROTO: 'tcp',
      ASHLAR_SERVICE_HOST: '10.0.0.1',
      ASHLAR_SERVICE_PORT: '8185',
      ASHLAR_SERVICE_PORT_HTTP: '8185',
    }
    const { source, notes } = configFromEnvironment({ ...links, ASHLAR_HOST: '::1', ASHLAR_COMPILE_LMDB: '0' })
    expect(source).toEqual({ host: '::1' })
    expect(notes).toHaveLength(1)
    expect(notes[0]).toContain(`WARNING: ${Object.keys(links).join(', ')}: ignored`)
    expect(notes[0]).toContain('enableServiceLinks: false')
  })

  it.each([
    [{ ASHLAR_PORT: 'x' }, /ASHLAR_PORT is a port/],
    [{ ASHLAR_ALLOW_SHUTDOWN: 'yes' }, /ASHLAR_ALLOW_SHUTDOWN is true or false/],
    [{ ASHLAR_FD: 'a=' }, /no store/],
    [{ ASHLAR_CORS: '*' }, /ASHLAR_CORS: '\*' is not an origin.*any page/],
    [{ ASHLAR_HOST_NAME: 'db.example.com:8185' }, /ASHLAR_HOST_NAME: 'db.example.com:8185' is not the name of a host/],
    [{ ASHLAR_WORKERS: 'all' }, /ASHLAR_WORKERS is a number of workers/],
    [{ ASHLAR_WORKERS: '-1' }, /ASHLAR_WORKERS is a number of workers/],
  ])('refuses %j', (environment, words) => {
    expect(() => configFromEnvironment(environment)).toThrow(mistake(words))
  })
})

describe('configFromJson', () => {
  const read = (settings: unknown) => configFromJson(JSON.stringify(settings), 'ashlar.json')

  it('reads every setting', () => {
    const settings = {
      host: '127.0.0.1',
      port: 8185,
      data: './data',
      workers: 4,
      default: 'fleet',
      federatedDatabases: [{ alias: 'fleet', store: 'lmdb:./data/fleet' }, { alias: 'big' }],
      limits: { bodyBytesMax: 1_000, classAttributesMax: 5, statementMsMax: 100, sortedRowsMax: 7 },
      allowShutdown: false,
      auth: true,
      securityStore: 'memory:',
      insecure: true,
      hosts: ['db.example.com', '192.0.2.1', '[2001:db8::1]'],
      cors: ['https://app.example.com', 'app://notes'],
      trustedProxies: ['192.0.2.1'],
      proxyHeader: 'proxy-protocol',
      logLevel: 'debug',
    }
    expect(read({ ...settings, importDir: null })).toEqual(settings)
    expect(read({ hosts: null, cors: null })).toEqual({})
    expect(read({ hosts: [], cors: [] })).toEqual({ hosts: [], cors: [] })
    expect(read({ importDir: './imports' })).toEqual({ importDir: './imports' })
  })

  it.each([
    [{ prot: 1 }, /no setting prot. Did you mean port/],
    [{ allowshutdown: true }, /Did you mean allowShutdown/],
    [{ constructor: 1 }, /no setting constructor/],
    [{ federatedDatabases: [{ alias: 'a', stroe: 'memory:' }] }, /no field stroe. Did you mean store/],
    [{ federatedDatabases: {} }, /is an array/],
    [{ federatedDatabases: [{}] }, /alias .* must be a non-empty string/],
    [{ limits: { bodyBytesMaximum: 1 } }, /Did you mean bodyBytesMax/],
    [{ limits: { statementsPerAddressMax: 4 } }, /statementsPerAddressMax is now called statementsPerCallerMax/],
    [{ limits: { bodyBytesMax: -1 } }, /positive integer/],
    [{ limits: { bodyBytesMax: '1' } }, /positive integer/],
    [{ port: true }, /is a port/],
    [{ host: '' }, /must be a non-empty string/],
    [{ cors: ['*'] }, /cors in ashlar.json: '\*' is not an origin .* any page that an operator opens/],
    [{ cors: ['null'] }, /'null' is not an origin/],
    [{ cors: ['app.example.com'] }, /is not an origin/],
    [{ cors: ['https://app.example.com/'] }, /is not an origin/],
    [{ cors: ['https://app.example.com:443'] }, /is not an origin/],
    [{ cors: 'https://app.example.com' }, /cors .* must be an array of strings/],
    [{ hosts: ['http://db.example.com'] }, /is not the name of a host/],
    [{ hosts: ['db.example.com:8185'] }, /is not the name of a host/],
    [{ hosts: [''] }, /An entry of hosts .* must be a non-empty string/],
    [{ importDir: '' }, /importDir .* must be a non-empty string/],
    [{ importDir: [] }, /importDir .* must be a non-empty string/],
    [{ importDir: false }, /importDir .* must be a non-empty string/],
    [[], /is a JSON object/],
  ])('refuses %j', (settings, words) => {
    expect(() => read(settings)).toThrow(mistake(words))
  })

  it('says what is wrong with a text that is not JSON', () => {
    expect(() => configFromJson('{', 'ashlar.json')).toThrow(mistake(/ashlar.json is not JSON/))
  })
})
