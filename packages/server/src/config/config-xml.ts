/** The configuration file of the original server, from which federated databases and the port are used. */
import { dirname, join, parse as parsePath } from 'node:path'
import { addressOfDirectory } from '@ashlar/engine/store-address'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { ConfigError, type ConfigSource, type FederatedDatabaseConfig, type NotedSource } from './config.ts'

interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
  readonly children: readonly Element[]
}

type Ordered = Readonly<Record<string, unknown>>

const supportedNames = ['FederatedDatabase', 'PortNumber']

/** Finds FederatedDatabase elements at any depth. For the boot file `/data/fleet.boot`, the store is `/data/fleet.ashlar`. Throws ConfigError. */
export function configFromXml(text: string, file: string): NotedSource {
  const validity = XMLValidator.validate(text)
  if (validity !== true) throw new ConfigError(`The configuration file ${file} is not XML: ${validity.err.msg}`)
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
  })
  const elements = flatten(toElements(parser.parse(text) as Ordered[]))
  const fds = elements.filter(({ name }) => name === 'FederatedDatabase').map((element) => readFd(element, file))
  if (fds.length === 0) throw new ConfigError(`The configuration file ${file} has no FederatedDatabase element.`)
  const port = findPort(elements, file)
  const source: ConfigSource = { federatedDatabases: fds, ...(port === undefined ? {} : { port }) }
  return { source, notes: notesOf(elements, file) }
}

function toElements(nodes: readonly Ordered[]): Element[] {
  return nodes.flatMap((node) => {
    const name = Object.keys(node).find((key) => key !== ':@')
    if (name === undefined || name.startsWith('?') || name === '#text') return []
    const inner = node[name] as Ordered[]
    const text = inner.map((child) => (typeof child['#text'] === 'string' ? child['#text'] : '')).join('')
    const attributes = (node[':@'] ?? {}) as Record<string, string>
    return [{ name, attributes, text: text.trim(), children: toElements(inner) }]
  })
}

function flatten(elements: readonly Element[]): Element[] {
  return elements.flatMap((element) => [element, ...flatten(element.children)])
}

function readFd({ attributes, children }: Element, file: string): FederatedDatabaseConfig {
  const setting = (name: string): string | undefined => {
    return attributes[name] ?? children.find((child) => child.name === name)?.text
  }
  const alias = setting('fdAlias')
  const bootFile = setting('bootFile')
  if (alias === undefined || alias === '') throw new ConfigError(`${file}: a FederatedDatabase has no fdAlias.`)
  if (bootFile === undefined || bootFile === '')
    throw new ConfigError(`${file}: the FederatedDatabase ${alias} has no bootFile.`)
  return { alias, store: addressOfDirectory(join(dirname(bootFile), `${parsePath(bootFile).name}.ashlar`)), bootFile }
}

function findPort(elements: readonly Element[], file: string): number | undefined {
  for (const { name, attributes, text } of elements) {
    const port = attributes.PortNumber ?? (name === 'PortNumber' ? (attributes.value ?? text) : undefined)
    if (port === undefined) continue
    if (/^\d{1,5}$/.test(port)) return Number(port)
    throw new ConfigError(`${file}: PortNumber '${port}' is not a port.`)
  }
  return undefined
}

function notesOf(elements: readonly Element[], file: string): string[] {
  const leaves = elements.filter(({ name, children, attributes, text }) => {
    const isWithinSupported = name === 'fdAlias' || name === 'bootFile' || supportedNames.includes(name)
    return !isWithinSupported && children.length === 0 && (text !== '' || Object.keys(attributes).length > 0)
  })
  const names = [...new Set(leaves.map(({ name }) => name))]
  return names.length === 0 ? [] : [`${file}: ignored ${names.join(', ')}.`]
}
