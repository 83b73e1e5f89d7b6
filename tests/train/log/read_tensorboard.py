"""What TensorBoard itself reads of our event files: read_tensorboard.py SAMPLES, the program that writes some.
tests/support/python_with.py finds a Python that has it."""
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util


def expect(found, wanted, what):
    assert found == wanted, f"{what}: {found}, expected {wanted}"
    print("ok", what)


def hyper_parameters(read, tag):
    return plugin_data_pb2.HParamsPluginData.FromString(read.summary_metadata[tag].plugin_data.content)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    read = EventAccumulator(folder, size_guidance={kind: 0 for kind in ("scalars", "histograms", "images", "tensors")})
    read.Reload()

    # Step 300 was taken back by the run that went on from step 3.
    expect([(each.step, each.value) for each in read.Scalars("valid/loss")], [(1, 1.0), (2, 0.5), (3, 0.25)], "scalars")

    [weights] = read.Histograms("weights")
    found = weights.histogram_value
    expect((weights.step, found.num, found.sum, found.sum_squares), (2, 4, 2.25, 2.0625), "a histogram")
    expect(sum(found.bucket), 4, "its buckets")

    [picture] = read.Images("picture")
    expect((picture.step, picture.height, picture.width), (1, 2, 3), "a picture")
    expect(picture.encoded_image_string[:4], b"\x89PNG", "its bytes")

    [bias] = read.Histograms("weights/bias")
    found = bias.histogram_value
    expect((bias.step, found.num, found.sum, found.sum_squares), (4, 4, 6, 18), "a parameter's histogram")
    expect((list(found.bucket_limit), list(found.bucket)), ([1, 2, 3, 4], [1, 2, 0, 1]), "its ranges")
    [drawn] = read.Images("drawn")
    expect((drawn.step, drawn.height, drawn.width), (4, 1, 2), "a drawing")
    [matrix] = read.Images("valid/confusion/matrix")
    expect((matrix.step, matrix.height, matrix.width), (4, 48, 48), "a confusion matrix")
    tags = read.Tags()
    expect(set(tags["scalars"]) & set(tags["images"]), set(), "tags of two kinds")

    [tag] = [tag for tag in read.Tags()["tensors"] if tag.startswith("note")]
    [note] = read.Tensors(tag)
    words = tensor_util.make_ndarray(note.tensor_proto).ravel().tolist()
    expect((note.step, words), (2, [b"some *words*"]), "a text")
    expect(read.summary_metadata[tag].plugin_data.plugin_name, "text", "its page")

    start = hyper_parameters(read, "_hparams_/session_start_info").session_start_info
    given = {name: value.WhichOneof("kind") and getattr(value, value.WhichOneof("kind"))
             for name, value in start.hparams.items()}
    expect(given, {"rate": 0.5, "seed": 7.0, "name": "adam", "o.on": True}, "hyper-parameters")
    experiment = hyper_parameters(read, "_hparams_/experiment").experiment
    expect([info.name.tag for info in experiment.metric_infos], ["valid/loss"], "what runs are compared by")
    ended = hyper_parameters(read, "_hparams_/session_end_info").session_end_info
    expect(ended.status, 1, "a run's end")
