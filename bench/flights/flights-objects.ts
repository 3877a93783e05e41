/** OIDs of airlines and airports by the codes that flights and routes name them with. */
export class FlightsDirectory {
  private readonly airlinesById = new Map<number, string>()
  private readonly airlinesByIata = new Map<string, string>()
  private readonly airportsById = new Map<number, string>()
  private readonly airportsByIata = new Map<string, string>()

  /** An active airline goes before one of the past with the same code. */
  addAirline(oid: string, attributes: Record<string, unknown>): void {
    const { airlineId, iata, isActive } = attributes
    if (typeof airlineId === 'number') this.airlinesById.set(airlineId, oid)
    if (typeof iata === 'string' && iata !== '' && (isActive === true || !this.airlinesByIata.has(iata))) {
      this.airlinesByIata.set(iata, oid)
    }
  }

  addAirport(oid: string, attributes: Record<string, unknown>): void {
    const { airportId, iata } = attributes
    if (typeof airportId === 'number') this.airportsById.set(airportId, oid)
    if (typeof iata === 'string' && iata !== '' && !this.airportsByIata.has(iata)) this.airportsByIata.set(iata, oid)
  }

  airline(id: number | null, iata: string | null): string | null {
    return (id === null ? undefined : this.airlinesById.get(id)) ?? this.airlinesByIata.get(iata ?? '') ?? null
  }

  airport(id: number | null, iata: string | null): string | null {
    return (id === null ? undefined : this.airportsById.get(id)) ?? this.airportsByIata.get(iata ?? '') ?? null
  }
}
