import { Link } from '@tanstack/react-router'
import { useCan } from '../api/session.ts'
import { common } from '../strings/everywhere/common.ts'

/** A link to the settings of the catalog, for those who may change it. */
export function ConnectLink() {
  return useCan('LeadDataEngineer') ? <Link to="/settings/catalog">{common.connectCatalog}</Link> : undefined
}
