// Reads the tenant's slug from host and path. It does not know which tenants exist.

/** `slug` is undefined when no tenant can have the address; `path` is the part below the tenant's address. */
export type TenantLocation = { readonly slug: string | undefined; readonly path: string };

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PLACE = 'tenant-slug-goes-here';

/** RFC 8414 §3.1, RFC 9728 §3.1 and SSF §7.2.1 insert these names between the host and the path of the issuer. */
const INSERTED =
  /^(\/\.well-known\/(?:oauth-authorization-server|openid-configuration|oauth-protected-resource|ssf-configuration))(\/.+)$/;

/**
 * @param options.defaultTenant slug of the tenant at the root, if there is one
 * @param options.tenantUrl address template of all other tenants; `{tenant}` is in its host or its path
 * @returns a function from the `Host` header and the raw path to the tenant's slug and the path below its address
 */
export function createTenantLocator({
  defaultTenant,
  tenantUrl,
}: {
  defaultTenant: string | undefined;
  tenantUrl: string;
}): (host: string, path: string) => TenantLocation {
  const template = new URL(tenantUrl.replaceAll('{tenant}', PLACE));
  const base = template.pathname.replace(/(?<!\/)\/+$/, '');
  const matchHost = template.hostname.includes(PLACE) ? matcher(template.hostname, '$') : undefined;
  const matchPath = matcher(base, '(/.*)?$');

  const below = (path: string): TenantLocation | undefined => {
    const match = matchPath.exec(path);
    if (match === null) return undefined;
    return { slug: match.groups?.slug, path: match.groups?.rest ?? '/' };
  };
  const locate = (path: string): TenantLocation | undefined => {
    const inserted = path.startsWith('/.well-known/') ? INSERTED.exec(path) : null;
    if (inserted === null) return below(path);
    const issuer = below(inserted[2] ?? '');
    return issuer?.path === '/' ? { slug: issuer.slug, path: inserted[1] ?? '' } : undefined;
  };
  const atRoot = (path: string): TenantLocation => ({ slug: defaultTenant, path });
  // The default tenant has only the root as its address, so the template's address with its slug is refused.
  const other = (slug: string | undefined, path: string): TenantLocation => ({
    slug: slug !== undefined && SLUG.test(slug) && slug !== defaultTenant ? slug : undefined,
    path,
  });

  return (host, path) => {
    if (matchHost !== undefined) {
      const slug = matchHost.exec(host.replace(/:\d+$/, '').toLowerCase())?.groups?.slug;
      if (slug === undefined) return atRoot(path);
      const location = base === '' ? { path } : locate(path);
      return location === undefined ? { slug: undefined, path } : other(slug, location.path);
    }
    const location = locate(path);
    return location === undefined ? atRoot(path) : other(location.slug, location.path);
  };
}

function matcher(text: string, end: string): RegExp {
  const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(PLACE, '(?<slug>[^/]+)');
  return new RegExp(`^${pattern}${end.replace('(/', '(?<rest>/')}`);
}
