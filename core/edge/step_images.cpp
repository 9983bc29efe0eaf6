#include "core/edge/edge_role.hpp"
#include "core/image/foreign_image.hpp"

namespace harena {

EdgeImages::EdgeImages(ImageStore& store, Clock& clock, std::unique_ptr<image::WorkFolder> folder)
    : work(std::move(folder)),
      catalog(store, guard),
      importer(store, spawner, *work, clock, guard, image::host_architecture()) {}

Step EdgeRole::images_step() {
  return {"images",
          [this]() -> Status {
            HARENA_TRY(ImageStore* const store, plugins_->image_store());
            HARENA_TRY(auto work, image::WorkFolder::open(parts_.config.state_dir + "/import", parts_.random));
            images_ = std::make_unique<EdgeImages>(*store, parts_.clock, std::move(work));
            return ok_status();
          },
          [this] { images_.reset(); }};
}

}  // namespace harena
