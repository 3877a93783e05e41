/** The configuration file of the original server (REST interface, section 8). */
import { describe, expect, it } from 'vitest'
import { configFromXml } from '../../src/config/config-xml.ts'

const read = (xml: string) => configFromXml(xml, 'server.xml')

describe('configFromXml', () => {
  it('takes over aliases, the places of the boot files, and the port, and notes what it ignores', () => {
    const xml = `<?xml version="1.0" encoding="UTF-8"?>
      <!-- the server of the fleet -->
      <RestServerConfig>
        <PortNumber>9090</PortNumber>
        <LogLevel>3</LogLevel>
        <FederatedDatabases>
          <FederatedDatabase fdAlias="fleet" bootFile="/data/fleet/fleet.boot"/>
          <FederatedDatabase fdAlias="big" bootFile="/data/big.fdb"></FederatedDatabase>
        </FederatedDatabases>
        <Session maxIdle="30"/>
      </RestServerConfig>`
    expect(read(xml)).toEqual({
      source: {
        port: 9090,
        federatedDatabases: [
          { alias: 'fleet', store: 'lmdb:/data/fleet/fleet.ashlar', bootFile: '/data/fleet/fleet.boot' },
          { alias: 'big', store: 'lmdb:/data/big.ashlar', bootFile: '/data/big.fdb' },
        ],
      },
      notes: ['server.xml: ignored LogLevel, Session.'],
    })
  })

  it.each([
    '<configuration PortNumber="7000"><FederatedDatabase fdAlias="a" bootFile="/a.boot"/></configuration>',
    '<x><PortNumber value="7000"/><FederatedDatabase><fdAlias>a</fdAlias><bootFile>/a.boot</bootFile></FederatedDatabase></x>',
    '<s><Http><PortNumber> 7000 </PortNumber></Http><FederatedDatabase fdAlias="a" bootFile="/a.boot"/></s>',
  ])('finds the port and the alias wherever they stand: %s', (xml) => {
    expect(read(xml)).toEqual({
      source: { port: 7000, federatedDatabases: [{ alias: 'a', store: 'lmdb:/a.ashlar', bootFile: '/a.boot' }] },
      notes: [],
    })
  })

  it('takes a single element as the whole document', () => {
    const { source } = read('<FederatedDatabase fdAlias="a" bootFile="/a.boot"/>')
    expect(source).toEqual({ federatedDatabases: [{ alias: 'a', store: 'lmdb:/a.ashlar', bootFile: '/a.boot' }] })
  })

  it.each([
    ['<a><b></a>', /is not XML/],
    ['<a/>', /no FederatedDatabase/],
    ['<a><FederatedDatabase bootFile="/x"/></a>', /no fdAlias/],
    ['<a><FederatedDatabase fdAlias="x"/></a>', /x has no bootFile/],
    ['<a PortNumber="no"><FederatedDatabase fdAlias="x" bootFile="/x"/></a>', /'no' is not a port/],
  ])('refuses %s', (xml, words) => {
    expect(() => read(xml)).toThrow(words)
  })
})
