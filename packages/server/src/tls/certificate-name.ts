/** What of a certificate is the name of its holder: of its subject, or of its alternative names. */
export type CertificateName = 'CN' | 'email' | 'DNS' | 'URI'
