// Reads the facts for a judge's program in Java, and prints a line for each case (see oauth-clients.mjs).
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.util.JSONObjectUtils;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;

final class OauthCases {
    /** A case: an exception is the reason why it failed. */
    interface Body {
        void run() throws Exception;
    }

    private final Map<String, Object> facts;
    final String issuer;
    final String resource;

    OauthCases(String file) throws Exception {
        facts = JSONObjectUtils.parse(Files.readString(Path.of(file)));
        issuer = (String) facts.get("issuer");
        resource = (String) facts.get("resource");
    }

    /** A text of one of the facts' objects. */
    String text(String object, String member) throws Exception {
        return (String) JSONObjectUtils.getJSONObject(facts, object).get(member);
    }

    /** The private key of an application or of the workload. */
    JWK key(String object) throws Exception {
        return JWK.parse(JSONObjectUtils.getJSONObject(JSONObjectUtils.getJSONObject(facts, object), "jwk"));
    }

    void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            String text = (error + " " + error.getStackTrace()[0]).replaceAll("\\s+", " ");
            System.out.println("not ok " + name + " - " + text);
        }
    }

    static void expect(boolean isRight, Object found) {
        if (!isRight) throw new AssertionError("found " + found);
    }

    /** The exception of a kind that a call must throw. */
    static <E extends Exception> E failure(Class<E> kind, Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (Exception error) {
            if (kind.isInstance(error)) return kind.cast(error);
            throw error;
        }
        throw new AssertionError("no " + kind.getSimpleName());
    }
}
